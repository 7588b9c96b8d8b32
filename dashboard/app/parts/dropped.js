// Files that are dragged over the page. One that is let go where nobody takes it, the browser would open in place of the page.

/** Whether files are dragged, and not a picture of a page, which is one too. @param {DragEvent} event */
export function hasFiles(event) {
  const types = event.dataTransfer?.types ?? [];
  return types.includes("Files") && !types.includes("text/html");
}

/** @param {DragEvent} event */
function refuse(event) {
  if (event.defaultPrevented || !hasFiles(event)) return;
  event.preventDefault();
  if (event.dataTransfer) event.dataTransfer.dropEffect = "none";
}

/** Lets the browser open none, from now on. */
export function guard() {
  document.addEventListener("dragover", refuse);
  document.addEventListener("drop", refuse);
}
