// Words of the playground.
export const playground = {};
