// Words of the inbox: who answers, and with what.
export const answering = {
};
