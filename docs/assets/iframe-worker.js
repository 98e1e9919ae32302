// Lets the search run where pages are opened as files: browsers start no worker from there, so it runs in a hidden frame.
(() => {
  if (location.protocol !== "file:") return;
  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.#hear(data);
      inside.importScripts = (...urls) =>
        urls.reduce((before, next) => before.then(() => FrameWorker.#load(inside, next)), Promise.resolve());
      this.frame = frame;
      this.ready = FrameWorker.#load(inside, url);
    }
    static #load(inside, url) {
      return new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: url, onload: done, onerror: failed });
        inside.document.body.append(script);
      });
    }
    #hear(data) {
      const event = new MessageEvent("message", { data: structuredClone(data) });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    postMessage(data) {
      this.ready.then(() => {
        const inside = this.frame.contentWindow;
        inside.dispatchEvent(new inside.MessageEvent("message", { data: structuredClone(data) }));
      });
    }
    terminate() {
      this.frame.remove();
    }
  }
  window.Worker = FrameWorker;
})();
