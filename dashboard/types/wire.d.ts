// What the API says, as far as the dashboard reads it. The contract is `baton openapi`.

export type Mode = "AI" | "HUMAN";
export type Status = "open" | "snoozed" | "closed";
export type Person = { id: string; name: string };

export type Conversation = {
  id: string;
  channel: string;
  chat_id: string;
  contact: { name: string | null; phone: string | null };
  mode: Mode;
  mode_version: number;
  mode_reason: string;
  mode_actor: string;
  mode_changed_at: string;
  mode_until: string | null;
  drafting: boolean;
  status: Status;
  snoozed_until: string | null;
  assignee: Person | null;
  labels: string[];
  unread: number;
  waiting_since: string | null;
  attention: { reason: string; since: string } | null;
  activity: "idle" | "waiting" | "generating" | "sending";
  activity_since: string | null;
  queue: { inbox: number; outbox: number };
  aliases: string[];
  merged_into: string | null;
  follow_up: FollowUp | null;
  opted_out: boolean;
  last_message: Message | null;
  match?: { message_id: string; seq: number; snippet: string } | null;
  created_at: string;
  updated_at: string;
};

export type Delivery = {
  state: "queued" | "sending" | "sent" | "delivered" | "read" | "failed" | "unknown" | "cancelled" | "dead";
  attempts: number;
  reason: string | null;
  part: number;
  parts: number;
  idempotency_key: string;
  lane: string;
  queued_at: string;
  next_attempt_at: string | null;
  sent_at: string | null;
  delivered_at: string | null;
  read_at: string | null;
};

export type Media = {
  mime_type: string | null;
  file_name: string | null;
  size: number | null;
  seconds: number | null;
  caption: string | null;
  transcript: string | null;
  state: "available" | "host_not_allowed" | "too_large" | "gone" | null;
  url: string | null;
};

export type Message = {
  id: string;
  conversation_id: string;
  seq: number;
  author: "contact" | "assistant" | "agent" | "system";
  origin: string;
  kind: string;
  text: string;
  agent: Person | null;
  sender: Person | null;
  quoted: { message_id: string | null; author: string | null; text: string } | null;
  edited_at: string | null;
  deleted_at: string | null;
  reactions: { emoji: string; author: string; at: string }[];
  media: Media | null;
  provider_message_id: string | null;
  at: string;
  provider_at: string | null;
  outcome: "pending" | "answered" | "left_to_human" | "ignored" | "handed_over" | "dead" | null;
  outcome_reason: string | null;
  turn_id: string | null;
  delivery: Delivery | null;
};

export type Receipt = {
  conversation_id: string;
  mode: Mode;
  mode_version: number;
  changed: boolean;
  generation_cancelled: boolean;
  parts_already_sent: number;
  parts_discarded: number;
  follow_up_cancelled: boolean;
  settled: boolean;
  in_flight: string[];
  at_provider: string[];
  generation_ms: number | null;
  answering: boolean;
  mode_until: string | null;
  assignee: Person | null;
};

export type Event = {
  id: string;
  at: string;
  channel: string | null;
  conversation_id: string | null;
  conv_seq: number | null;
  message_id: string | null;
  turn_id: string | null;
  mode_version: number | null;
  actor: string;
  type: string;
  action: string | null;
  details: Record<string, any>;
  conversation?: Conversation | null;
  message?: Message | null;
};

export type FollowUp = {
  id: string;
  conversation_id: string;
  due_at: string;
  text: string | null;
  instructions: string | null;
  created_by: string;
  state: "pending" | "sent" | "cancelled" | "withheld";
  message_id: string | null;
};

export type Turn = {
  id: string;
  conversation_id: string;
  state: "generating" | "completed" | "cancelled" | "superseded" | "failed";
  mode_version: number;
  message_ids: string[];
  started_at: string;
  first_token_at: string | null;
  ended_at: string | null;
  attempts: number;
  model: string;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
  wasted: boolean;
  reason: string | null;
};

export type Turns = {
  items: Turn[];
  next_cursor: string | null;
  total: { input_tokens: number; output_tokens: number; cost: number | null };
};

export type Draft = {
  id: string;
  conversation_id: string;
  text: string;
  state: "fresh" | "stale" | "sent" | "edited" | "discarded";
  based_on_seq: number;
  turn_id: string | null;
  message_id: string | null;
  decided_by: string | null;
  decided_at: string | null;
  edit_distance: number | null;
  created_at: string;
};

export type DeadLetter = {
  id: string;
  kind: "webhook" | "turn" | "send" | "delivery";
  channel: string | null;
  state: "open" | "replayed" | "discarded";
  conversation_id: string | null;
  reason: string;
  attempts: number;
  first_at: string;
  last_at: string;
  payload: any;
};

export type Channel = {
  name: string;
  title: string | null;
  provider: string;
  instance: string | null;
  api_url: string | null;
  state: string | null;
  brake: { since: string; sends: number; best: number } | null;
  settings?: Record<string, any>;
  managed_by?: string | null;
  webhook_token?: string;
};

/** What there is to link a phone with. */
export type PhoneLink = { state: "qr_code" | "linked" | "unavailable"; image: string | null; detail: string | null };

export type Me = {
  id: string;
  name: string;
  email: string | null;
  role: "admin" | "agent" | "read" | "metrics";
  channels: string[] | null;
  preferences: Record<string, any>;
};

export type Agent = { id: string; name: string; email?: string; role?: "admin" | "agent"; channels?: string[] | null; disabled?: boolean };
export type Label = { name: string; colour: string; description: string | null };
export type CannedReply = { id: string; shortcut: string; text: string; channels: string[] | null; owner: string | null };
export type Counts = { needs_you: number; mine: number; ai: number; all: number; unread: number };
export type Page<T> = { items: T[]; next_cursor: string | null };

export type Token = {
  id: string;
  name: string;
  role: "admin" | "agent" | "read" | "metrics";
  channels: string[] | null;
  agent_id: string | null;
  expires_at: string | null;
  created_at: string;
};

/** An endpoint of webhooks. */
export type Endpoint = {
  id: string;
  url: string;
  events: string[];
  channels: string[] | null;
  description: string | null;
  state: "active" | "paused" | "disabled";
  disabled_reason: string | null;
  failing_since: string | null;
  waiting: number;
  last_delivery: WebhookDelivery | null;
  created_at: string;
  updated_at: string;
};

/** One event at one endpoint. */
export type WebhookDelivery = {
  id: string;
  endpoint_id: string;
  event_id: string | null;
  type: string;
  channel: string | null;
  conversation_id: string | null;
  state: "pending" | "delivered" | "failed" | "dropped";
  attempts: number;
  created_at: string;
  last_attempt_at: string | null;
  next_attempt_at: string | null;
  status: number | null;
  reason: string | null;
  answer: string | null;
  took_ms: number | null;
};

export type Setting = {
  name: string;
  value: string | null;
  set: boolean;
  source: "flag" | "environment" | "file" | "default";
  channel_key: string | null;
};

export type Numbers = Record<string, number>;
export type Percentiles = { p50: number | null; p90: number | null };
export type Stats = {
  items: {
    from: string;
    conversations: number;
    outcomes: Numbers;
    turns: Numbers;
    first_answer_ms: Percentiles;
    human_answer_ms: Percentiles;
    tokens: number;
    cost: number | null;
    wasted_cost: number | null;
    drafts: Numbers;
    draft_edit_distance: Percentiles;
    follow_ups: Numbers;
  }[];
  now: {
    inbox: number;
    inbox_oldest_ms: number;
    outbox: Numbers;
    outbox_oldest_ms: number;
    dead_letters: Numbers;
    conversations: Numbers;
    attention: Numbers;
    follow_ups: number;
  };
};
