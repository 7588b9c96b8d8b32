// The pages beside the inbox, by the first word of their path.

/** @type {Record<string, () => any>} */
export const PAGES = {};
