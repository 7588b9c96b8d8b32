// Who answers in a conversation, as people say it. Pure.

/** @import * as Wire from "../../types/wire.js" */

/**
 * @typedef {"ai" | "me" | "agent" | "phone" | "other_system" | "nobody"} Who
 *   `nobody`: a person shall answer, and none has begun to.
 * @typedef {{who: Who, id: string | null, name: string | null, isDrafting: boolean}} Holder
 */

/**
 * @param {Pick<Wire.Conversation, "mode" | "drafting" | "assignee" | "mode_actor">} it
 * @param {string | null} mine the id of who looks at it
 * @returns {Holder}
 */
export function holder({ mode, drafting, assignee, mode_actor }, mine) {
  if (mode === "AI") return { who: "ai", id: null, name: null, isDrafting: false };
  if (assignee) return { who: assignee.id === mine ? "me" : "agent", id: assignee.id, name: assignee.name, isDrafting: drafting };
  const [kind, id = null] = mode_actor.split(/:(.*)/s);
  const who = kind === "agent" ? (id === mine ? "me" : "agent")
    // A token of the environment is nobody in particular: it is us exactly if we sit here with it.
    : kind === "environment" ? (mine === "environment" ? "me" : "other_system")
    : kind === "phone" || kind === "other_system" ? kind
    : kind === "token" || kind === "shell" ? "other_system"
    : "nobody";
  return { who, id: who === "agent" || who === "me" ? id : null, name: null, isDrafting: drafting };
}
