// Words of the inbox.
export const inbox = {};
