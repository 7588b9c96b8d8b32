// Whether a conversation is ours to act in, or a colleague's.

import { me } from "../state/session.js";
import { holder } from "./holder.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {Wire.Conversation} it */
export const heldBy = (it) => holder(it, me.value?.id ?? null);

/** Not while a colleague holds it: then it is taken from them first. @param {Wire.Conversation} it */
export const canAct = (it) => heldBy(it).who !== "agent";
