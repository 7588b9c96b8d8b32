// The values of the API, in words for people: one that is missing here is shown as the API has it.
export const values = {
  "mode.AI": "AI",
  "mode.HUMAN": "Person",
};
