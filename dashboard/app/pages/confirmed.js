// Whether whoever erases means this contact.

/** @import * as Wire from "../../types/wire.js" */

/** Whether that is what was typed: of a number its digits, however they are written. @param {Wire.Conversation} it @param {string} typed */
export function isConfirmed(it, typed) {
  const digits = (/** @type {string} */ text) => text.replace(/[\s()+.\-/]/g, "");
  return typed.trim() === it.chat_id || (it.contact.phone !== null && digits(typed) === digits(it.contact.phone));
}
