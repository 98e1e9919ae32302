/* Shows a sentence of the server: what stands between backticks is code. It is text alone, so that no word of others becomes a tag. */
window.showSentence = function (place, sentence) {
  "use strict";
  const parts = sentence.split(/`([^`\n]+)`/).map((part, at) => {
    if (at % 2 === 0) return part;
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  });
  place.replaceChildren(...parts);
};
