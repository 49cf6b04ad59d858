/**
 * Compares the spec with what the service shows, and computes fingerprints (keyed hashes) of the values that were sent
 * and applied.
 *
 * The operator's key makes these fingerprints, and also the ownership marks by which the operator recognises objects
 * that it created.
 */
import { canonicalJson, definedIn, type Json, revealed, sameJson, Secret } from '../../../base/json.ts';
import type { Pass } from '../contract/pass.ts';
import type { Fields, ObjectPlan } from './plan.ts';
import type { Drift, Memory, Call } from '../contract/step.ts';
import { isoSeconds } from '../../../base/time.ts';
import { createHash, createHmac } from 'node:crypto';

/** The differences between the spec and what the service shows. */
export interface Difference {
  /** The values of the spec for all fields that have a different value in the service. */
  readonly differing: Readonly<Record<string, Json>>;
  /**
   * The values of the spec that have not been sent to the service yet, by field. Only fields whose sent values status
   * records as fingerprints can be in here: fields that the service does not always show, and all fields if drift is
   * only reported.
   */
  readonly unsent: Readonly<Record<string, Json>>;
  /** The fingerprints of the spec's values, for those fields whose fingerprint is stored in status. */
  readonly prints: Readonly<Record<string, string>>;
  /** Fields of the spec that the service never shows. */
  readonly hidden: readonly string[];
  /** True when the fingerprints in status must be updated although nothing has to be sent. */
  readonly rerecord: boolean;
  /**
   * The fields whose newest value may still be overwritten when an older call arrives late. For each field: the wall
   * time after which the older call can no longer arrive.
   */
  readonly overwritable: Readonly<Record<string, number>>;
  readonly drift: readonly Drift[];
}

/** Returns the text of a field; empty when the field has no text. */
export function textIn(fields: Fields, field: string): string {
  const value = fields[field];
  return typeof value === 'string' ? value : '';
}

/** True when two values are equal. Secrets are compared by their content. */
export function sameValue(a: Json | undefined, b: Json | undefined): boolean {
  return sameJson(revealed(a), revealed(b));
}

/**
 * True if two values of a field count as the same. Names may differ in their Unicode form and in leading or trailing
 * spaces.
 */
export function sameField(field: string, wanted: Json | undefined, seen: Json | undefined): boolean {
  if (sameValue(wanted, seen)) return true;
  return field === 'name' && typeof wanted === 'string' && typeof seen === 'string' && isSameName(wanted, seen);
}

/** True when two names count as the same. The service may compose characters (NFC) of a name or trim it. */
export function isSameName(a: string, b: string): boolean {
  return a === b || a.normalize('NFC').trim() === b.normalize('NFC').trim();
}

/** Returns a value as status may show it: short, and never a secret. */
export function statusText(value: Json | undefined, secret: boolean): string {
  if (value === undefined) return '(unset)';
  if (secret || value instanceof Secret) return '(redacted)';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

/**
 * Returns the value of a drifted field in the service, as text for status. URLs that the spec does not contain are
 * hidden, because they may contain a signature.
 */
export function observedText(observed: Json | undefined, wanted: Json | undefined, secret: boolean): string {
  const asked = statusText(wanted, secret);
  return statusText(observed, secret)
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S+/giu, (address) => (asked.includes(address) ? address : '[url]'))
    .replaceAll(/\p{C}+/gu, ' ');
}

/**
 * Compares the spec with what the service shows. Fields that the service never shows are compared with what was last
 * sent.
 */
export function compare(plan: ObjectPlan, pass: Pass, observed: Fields): Difference {
  const differing: Record<string, Json> = {};
  const unsent: Record<string, Json> = {};
  const prints: Record<string, string> = {};
  const hidden: string[] = [];
  const drift: Drift[] = [];
  const endangered: Record<string, number> = {};
  let rerecord = false;
  for (const [field, wanted] of Object.entries(plan.desired(pass))) {
    if (wanted === undefined) continue;
    const isHidden = plan.hidden?.(field, pass) === true;
    const differs = !isHidden && !sameField(field, wanted, observed[field]);
    if (isHidden) hidden.push(field);
    if (differs) {
      differing[field] = wanted;
      const secret = plan.secret?.(field) ?? false;
      const value = observed[field];
      // Redact the value only after the comparison, which needs the unredacted value.
      const seen = typeof value === 'string' ? (pass.shown?.(value) ?? value) : value;
      drift.push({ field, desired: statusText(wanted, secret), observed: observedText(seen, wanted, secret) });
    }
    const how = rememberedAs(plan, pass, field);
    if (how === undefined) continue;
    prints[field] = pass.print(wanted);
    const state = stateOfHidden(pass, field, prints[field]);
    const late = overwritable(pass.memory.applied?.prints[field]);
    if (late !== undefined && state === 'sent') endangered[field] = late.untilMs;
    const isUnsent = how === 'sent' && state === 'unsent' && (isHidden || differs);
    if (isUnsent && plan.sentElsewhere?.(field, pass) === true) rerecord = true;
    else if (isUnsent) unsent[field] = wanted;
    else rerecord ||= isInDoubt(pass.memory.applied?.prints[field]) || (how === 'sent' && state === 'unknownKey');
  }
  return { differing, unsent, prints, hidden, rerecord, overwritable: endangered, drift };
}

/**
 * Returns why status stores a fingerprint of a field. `sent`: to know which value was last sent, since the service does
 * not show the field or its drift is only reported. `set`: to know that the field was once set. Undefined for a field
 * without a fingerprint.
 */
export function rememberedAs(plan: ObjectPlan, pass: Pass, field: string): 'sent' | 'set' | undefined {
  if (plan.hidden?.(field, pass) === true || plan.hiddenAtTimes?.(field) === true) return 'sent';
  if (plan.lifecycle(pass.spec).drift === 'Report') return 'sent';
  return plan.kept?.(field) === true ? 'set' : undefined;
}

/**
 * Says whether the spec's value of a field was already sent, for a field that the service never shows. `unknownKey`
 * means that this cannot be known, because the stored fingerprint was made with a key that the operator no longer has.
 */
export function stateOfHidden(pass: Pass, field: string, print: string): 'sent' | 'unsent' | 'unknownKey' {
  const recorded = pass.memory.applied;
  const late = overwritable(recorded?.prints[field]);
  // An older call may still overwrite the value. So the value is sent once more when that call can no longer arrive.
  if (late?.print === print) return late.untilMs > pass.wallMs ? 'sent' : 'unsent';
  const known = late?.print ?? recorded?.prints[field];
  if (known === print) return 'sent';
  if (known === undefined || isInDoubt(known) || keyIdOf(known) === keyIdOf(print)) return 'unsent';
  return recorded?.generation === pass.subject.generation ? 'unknownKey' : 'unsent';
}

/** Returns the id of the key that made a fingerprint. */
export function keyIdOf(print: string): string {
  return print.split(':', 1)[0] ?? '';
}

// ---- fingerprints of what was sent -----------------------------------------------------------------------------
//
// Fingerprints of values that were sent and that the service does not show.
//
// What is stored in status also says how certain the value is. `F` and `S` are fingerprints of values, `T` is a time:
//   `F`        the service has accepted the value F
//   `?S T>B`   a call that sends the value S, decided before the time T, got no response yet; `B` was stored before the call
//   `?S T`     the outcome of that call will never be known; S is left out if several values are possible or none is known
//   `@T F`     the service has accepted F, but an older call with a different value may still arrive until the time T; after
//              T, F is sent once more
//
// Guarantees: if the outcome of the call with a value is unknown, the value is treated as not sent, so that the value of the
// spec is sent. After a refusal, status has the fingerprint from before the refused call again. A value that an older call may
// overwrite is sent again when that call can no longer arrive.
//
// Why: docs/design/at-most-once.md#mark-changed-fields-as-in-doubt-before-the-call

type Prints = Readonly<Record<string, string>>;
type Applied = Memory['applied'];

const doubt = '?';
const late = '@';
/**
 * Stands in a fingerprint in place of the time of a call. It marks a create call, which cannot overwrite a value,
 * however late it arrives.
 */
const harmless = 'never';
/**
 * Times in fingerprints are rounded up to a multiple of this many horizons (`--horizon-seconds`), so that repeated
 * attempts of a call do not change status each time.
 */
const stepHorizons = 5;

/**
 * True for the fingerprint of a field whose value in the service is uncertain, because a call with an unknown outcome
 * may have changed the value.
 */
export function isInDoubt(print: string | undefined): boolean {
  return print?.startsWith(doubt) === true;
}

/**
 * A call whose response was lost: the fingerprint of the value that it sent, and the time at which it was decided, if
 * known.
 */
interface Lost {
  readonly sent: string;
  readonly at: string;
}

/** The fingerprints of the values that a call sends, and the time of the call. */
interface Sending {
  readonly prints: Prints;
  /** The wall time of the call; undefined for a create call, which overwrites nothing even if it arrives late. */
  readonly wallMs: number | undefined;
  readonly horizonMs: number;
}

/**
 * Splits the fingerprint of a field with an unfinished call into two parts: the value and time of the call, and the
 * fingerprint from before the call.
 */
function underWay(print: string): (Lost & { readonly before: string }) | undefined {
  const end = isInDoubt(print) ? print.indexOf('>') : -1;
  return end === -1 ? undefined : { ...lostOf(print.slice(0, end)), before: print.slice(end + 1) };
}

/** Parses the fingerprint of a field whose value is uncertain, because the response to a call was lost. */
function lostOf(print: string): Lost {
  const [sent = '', at = ''] = print.slice(doubt.length).split(' ');
  return { sent, at };
}

function inDoubt({ sent, at }: Lost): string {
  return at === '' ? `${doubt}${sent}` : `${doubt}${sent} ${at}`;
}

/** Marks the fingerprints of these fields as in doubt, because a call that carries the fields is about to be sent. */
export function begun(applied: Applied, fields: readonly string[], sending?: Sending): Applied {
  if (applied === undefined && fields.length === 0) return undefined;
  const { generation, prints } = doubted(applied, []);
  const at = sending === undefined ? '' : timeOf(sending);
  const doubtful = fields.map((field) => {
    const print = inDoubt({ sent: sending?.prints[field] ?? '', at });
    return [field, `${print}>${prints[field] ?? ''}`];
  });
  return { generation, prints: { ...prints, ...(Object.fromEntries(doubtful) as Prints) } };
}

function timeOf({ wallMs, horizonMs }: Sending): string {
  const stepMs = stepHorizons * horizonMs;
  return wallMs === undefined ? harmless : isoSeconds(Math.ceil(wallMs / stepMs) * stepMs);
}

/**
 * Records that the outcome of the newest call will never be known. The values of the fields that it sent, and of the
 * given fields, stay uncertain.
 */
export function doubted(applied: Applied, fields: readonly string[]): NonNullable<Applied> {
  const { generation = -1, prints = {} } = applied ?? {};
  const lasting = Object.entries(prints).map(([field, print]) => [field, withoutEnd(print)]);
  const doubtful = fields.map((field) => [field, doubt]);
  return { generation, prints: Object.fromEntries([...lasting, ...doubtful]) as Prints };
}

/**
 * Records in a fingerprint that the outcome of its unfinished call will never be known. If an earlier call may still
 * set a different value, the fingerprint no longer says which value was sent.
 */
function withoutEnd(print: string): string {
  const open = underWay(print);
  if (open === undefined) return print;
  const isAlone = !isInDoubt(open.before) && !open.before.startsWith(late);
  const isSame = isInDoubt(open.before) && lostOf(open.before).sent === open.sent;
  return inDoubt({ sent: isAlone || isSame ? open.sent : '', at: open.at });
}

/** Restores the fingerprints from before the newest call, which was not carried out. */
export function notDone(applied: Applied): Applied {
  if (applied === undefined) return undefined;
  const before = Object.entries(applied.prints).flatMap(([field, print]) => {
    const known = underWay(print)?.before ?? print;
    return known === '' ? [] : [[field, known] as const];
  });
  return { ...applied, prints: Object.fromEntries(before) };
}

/**
 * Returns the time until which an older call may still overwrite the value of a field, and the fingerprint of the
 * newest value. Returns undefined if no older call may do so.
 */
function overwritable(print: string | undefined): { readonly untilMs: number; readonly print: string } | undefined {
  if (print?.startsWith(late) !== true) return undefined;
  const [until = '', value = ''] = print.slice(late.length).split(' ');
  return { untilMs: Date.parse(until), print: value };
}

/**
 * Returns the fingerprint to store for a value that the service has just accepted. `before` is the fingerprint from
 * before the call. It shows whether an older call with a different value may still arrive.
 */
function taken(print: string, before: string | undefined, pass: Pass): string {
  const untilMs = mayArriveUntil(print, before, pass);
  return untilMs <= pass.wallMs ? print : `${late}${isoSeconds(untilMs + 1_000)} ${print}`;
}

/**
 * Returns the time until which an older call with a different value may still arrive: its deadline plus
 * `--horizon-seconds`.
 */
function mayArriveUntil(print: string, before: string | undefined, { wallMs, callMs, horizonMs }: Pass): number {
  const older = overwritable(before);
  if (older !== undefined) return older.untilMs;
  if (before === undefined || !isInDoubt(before)) return Number.NEGATIVE_INFINITY;
  const { sent, at } = lostOf(withoutEnd(before));
  if (sent === print || at === harmless) return Number.NEGATIVE_INFINITY;
  return (at === '' ? wallMs : Date.parse(at) + callMs) + horizonMs;
}

// ---- fingerprints of what was applied --------------------------------------------------------------------------
//
// These fingerprints tell which values were sent for fields that the service never shows. They also tell which fields
// still have a value in the service although the spec no longer sets them.

/**
 * Returns the fields that are no longer in the spec but keep their value in the service, because the API has no way to
 * clear them.
 */
export function leftoverOf(plan: ObjectPlan, pass: Pass): readonly string[] {
  if (pass.subject.deleting) return [];
  const desired = plan.desired(pass);
  return Object.keys(pass.memory.applied?.prints ?? {})
    .filter((field) => desired[field] === undefined && plan.replaced?.(field, desired) !== true)
    .filter((field) => plan.kept?.(field) === true || plan.hidden?.(field, pass) === true);
}

/**
 * Returns the fingerprints of the spec's values after a success. If an older call may still overwrite a value, its
 * fingerprint also says until when.
 */
function afterAnswer(
  pass: Pass,
  { prints, overwritable }: Difference,
  sent: readonly string[],
): Readonly<Record<string, string>> {
  const known = pass.memory.applied?.prints ?? {};
  const rows = Object.entries(prints).map(([field, print]) => {
    if (sent.includes(field)) return [field, taken(print, known[field], pass)];
    return [field, field in overwritable ? known[field] : print];
  });
  return Object.fromEntries(rows) as Readonly<Record<string, string>>;
}

/** Marks the fields of an update as in doubt until the response to the update arrives. */
export function meanwhile(plan: ObjectPlan, pass: Pass, now: Fields): Pick<Call, 'meanwhile'> {
  const { applied } = pass.memory;
  const fields = Object.keys(now).filter((field) => {
    const how = rememberedAs(plan, pass, field);
    return how === 'sent' || (how === 'set' && applied?.prints[field] === undefined);
  });
  const facts = plan.requests.supposedOfUpdate?.(now, pass);
  if (fields.length === 0 && facts === undefined) return {};
  return {
    meanwhile: {
      ...(fields.length > 0 && {
        applied: begun(applied, fields, { ...pass, prints: printsOf(pass, now) }),
      }),
      ...(facts !== undefined && { facts }),
    },
  };
}

/** Returns the fingerprint of each of these values, by field. */
export function printsOf(pass: Pass, values: Fields): Prints {
  return Object.fromEntries(Object.entries(definedIn(values)).map(([field, value]) => [field, pass.print(value)]));
}

/** Returns the fingerprints to store after the whole spec was applied. `sent` has the fields of the last call. */
export function whole(plan: ObjectPlan, pass: Pass, difference: Difference, sent: readonly string[] = []): Applied {
  // Also keep the fingerprints of fields that are no longer in the spec but keep their value in the service.
  const leftover = only(pass.memory.applied?.prints ?? {}, leftoverOf(plan, pass));
  return { generation: pass.subject.generation, prints: { ...leftover, ...afterAnswer(pass, difference, sent) } };
}

/** Returns the fingerprints to store after only these fields of the spec were applied. */
export function part(pass: Pass, difference: Difference, fields: readonly string[]): Applied {
  const { generation = -1, prints: known = {} } = pass.memory.applied ?? {};
  return { generation, prints: { ...known, ...only(afterAnswer(pass, difference, fields), fields) } };
}

/** Picks the values of these fields. */
export function only<Value>(
  values: Readonly<Record<string, Value>>,
  fields: readonly string[],
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(values).filter(([field]) => fields.includes(field)));
}

/**
 * Returns the fingerprints to store after the first read of an adopted object; undefined when there is nothing to
 * store.
 *
 * With drift `Report`, all fields that the service shows count as applied. The fields that the service never shows
 * count as applied if `spec.externalId` names the object and all other fields equal the spec. So nothing is sent before
 * the spec changes.
 *
 * Why: docs/design/ownership.md#what-is-taken-over-by-its-id-is-assumed-to-be-as-specified
 */
export function asFound(plan: ObjectPlan, pass: Pass, { differing }: Pick<Difference, 'differing'>): Memory['applied'] {
  const { ownership, applied, id } = pass.memory;
  if (ownership !== 'Adopted' || applied !== undefined) return undefined;
  const isReported = plan.lifecycle(pass.spec).drift === 'Report';
  const isAlike = plan.externalId(pass.spec) === id && Object.keys(differing).length === 0;
  const isHidden = (field: string): boolean => plan.hidden?.(field, pass) === true;
  const rows = Object.entries(plan.desired(pass)).filter(([field]) => (isHidden(field) ? isAlike : isReported));
  const prints = printsOf(pass, Object.fromEntries(rows));
  return isReported || Object.keys(prints).length > 0 ? { generation: -1, prints } : undefined;
}

// ---- the operator's key ----------------------------------------------------------------------------------------
//
// The operator has one secret key. With it, the operator makes fingerprints and signs its ownership marks.

const base32 = 'abcdefghijklmnopqrstuvwxyz234567';
const nameLength = 12;
const signLength = 4;

/**
 * The operator's own key. It makes fingerprints of values that the service never shows, and ownership marks for objects
 * that the operator creates.
 */
export class OperatorKey {
  readonly #key: Secret;
  /**
   * The id of the key. It is part of each fingerprint, so that a fingerprint made with a different key is recognised.
   */
  readonly id: string;

  constructor(key: Secret) {
    this.#key = key;
    this.id = createHash('sha256').update(key.reveal()).digest('hex').slice(0, 8);
  }

  /**
   * Returns the fingerprint of a value, as `<keyId>:<digest>`. Equal values have equal fingerprints, and a fingerprint
   * reveals nothing else about its value.
   */
  print(value: Json): string {
    return `${this.id}:${createHmac('sha256', this.#key.reveal()).update(canonicalJson(value)).digest('hex').slice(0, 32)}`;
  }

  /**
   * Returns the ownership mark of one object in one account: `apphosting:` and 16 characters. The last four characters
   * prove that this key made the mark.
   */
  marker(endpoint: string, accountId: string, uid: string): string {
    return this.#signed(`apphosting:${this.#letters(`marker|${endpoint}|${accountId}|${uid}`, nameLength)}`);
  }

  /** True when the operator's key made this ownership mark. */
  isOwn(marker: string): boolean {
    return this.#signed(marker.slice(0, 'apphosting:'.length + nameLength)) === marker;
  }

  #signed(name: string): string {
    return `${name}${this.#letters(`mark of|${name}`, signLength)}`;
  }

  #letters(text: string, length: number): string {
    const digest = createHmac('sha256', this.#key.reveal()).update(text).digest();
    return [...digest.subarray(0, length)].map((byte) => base32[byte % 32] ?? '').join('');
  }
}
