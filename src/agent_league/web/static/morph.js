/* Makes the children of one element those of another, and leaves alone what is equal: what is typed, chosen, opened or
   focused stays. */
(function () {
  "use strict";

  /* The children of one element made those of another: what has a key is found again by it, and the rest by its place. */
  function morphChildren(old, fresh) {
    const keyed = new Map();
    for (const child of old.children) if (child.dataset.key) keyed.set(child.dataset.key, child);
    let at = old.firstChild;
    for (const wanted of Array.from(fresh.childNodes)) {
      const key = wanted.dataset && wanted.dataset.key;
      const match = key ? keyed.get(key) : at;
      if (!match || !alike(match, wanted) || (!key && match.dataset && match.dataset.key)) {
        old.insertBefore(wanted, at);
        continue;
      }
      if (match === at) at = at.nextSibling;
      else old.insertBefore(match, at);
      // most rows of a long table stay as they are, and the browser compares them faster
      if (!key || !match.isEqualNode(wanted)) morph(match, wanted);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  function alike(one, other) {
    return one.nodeName === other.nodeName && one.id === other.id;
  }

  function morph(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    for (const name of old.getAttributeNames()) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    for (const name of fresh.getAttributeNames()) {
      if (old.getAttribute(name) !== fresh.getAttribute(name)) old.setAttribute(name, fresh.getAttribute(name));
    }
    morphChildren(old, fresh);
  }

  window.morphChildren = morphChildren;
})();
