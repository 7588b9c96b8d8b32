// Words of the pages.
export const pages = {};
