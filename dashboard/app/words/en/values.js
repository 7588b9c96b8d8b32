// The values of the API, in words for people: one that is missing here is shown as the API has it.
export const values = {
  "mode.AI": "AI",
  "mode.HUMAN": "Person",
  "role.admin": "Admin",
  "role.agent": "Agent",
  "role.read": "Read only",
  "role.metrics": "Metrics only",
  "token_role.admin": "It may do everything, as an admin does.",
  "token_role.agent": "It may read and answer conversations, as an agent does.",
  "token_role.read": "It may look at everything and change nothing.",
  "token_role.metrics": "It may read /metrics and nothing else.",
  "source.flag": "a flag",
  "source.environment": "the environment",
  "source.file": "baton.toml",
  "source.default": "default",
};
