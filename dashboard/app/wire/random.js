// What is made by chance: keys that nobody guesses, ids that no two requests share. Of the browser's own ways only this one
// is there on a page that came over plain http.

/** So many bytes, as hexadecimal digits. @param {number} bytes */
export const randomHex = (bytes) => hex(crypto.getRandomValues(new Uint8Array(bytes)));

/** Version 4 (RFC 9562), as `crypto.randomUUID` makes it. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return hex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** @param {Uint8Array} bytes */
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
