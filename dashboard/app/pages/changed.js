// What a form changes. What stands there as it stood before is not sent: somebody else may have changed it meanwhile.

/** In any order: what is in a list is chosen, not ranked. @param {any} value */
const plain = (value) => JSON.stringify(Array.isArray(value) ? [...value].sort() : value ?? null);

/** @param {Record<string, any>} body @param {Record<string, any>} before as it stood when the form was opened */
export const changed = (body, before) =>
  Object.fromEntries(Object.entries(body).filter(([name, value]) => plain(value) !== plain(before[name])));
