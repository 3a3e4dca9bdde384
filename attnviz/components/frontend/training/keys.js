/** Whether a key presses the button or the link that has the focus. @param {KeyboardEvent} event */
export const isPressing = (event) =>
  ["Enter", " "].includes(event.key) &&
  event.composedPath().some((one) => one instanceof Element && one.matches("button, summary, a[href]"));
