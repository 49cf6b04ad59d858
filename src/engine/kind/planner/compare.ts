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
   * Maps each field that still has to be sent, judging by the fingerprints of sent values in status, to its value in
   * the spec. Status stores such fingerprints for fields that the service does not always show, and for all fields if
   * drift is only reported.
   */
  readonly unsent: Readonly<Record<string, Json>>;
  /** Maps each field whose fingerprint is stored in status to the fingerprint of its value in the spec. */
  readonly fingerprints: Readonly<Record<string, string>>;
  /** Fields of the spec that the service never shows. */
  readonly hidden: readonly string[];
  /** True when the fingerprints in status must be updated although nothing has to be sent. */
  readonly rerecord: boolean;
  /**
   * The fields whose newest value an older call may still overwrite if it arrives late. Maps each of these fields to
   * the wall time until which that can happen.
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

/**
 * True if two names count as equal. They may differ in their Unicode form and in leading or trailing spaces, because
 * the service may convert a name to NFC or trim it.
 */
export function isSameName(a: string, b: string): boolean {
  return a === b || a.normalize('NFC').trim() === b.normalize('NFC').trim();
}

/** Returns a value as status may show it: short, and never a secret. */
export function statusText(value: Json | undefined, secret: boolean): string {
  if (value === undefined || value === null) return '(unset)';
  if (secret || value instanceof Secret) return '(redacted)';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

/**
 * Returns the text with which status shows the service's value of a field that differs from the spec. URLs that the
 * spec does not contain are hidden, because they may contain a signature.
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
  const fingerprints: Record<string, string> = {};
  const hidden: string[] = [];
  const drift: Drift[] = [];
  const endangered: Record<string, number> = {};
  let rerecord = false;
  const desired = plan.desired(pass);
  for (const field of Object.keys(desired)) {
    const wanted = desired[field];
    if (wanted === undefined) continue;
    const isHidden = plan.hidden?.(field, pass) === true;
    const differs = !isHidden && !sameField(field, wanted, observed[field]);
    if (isHidden) hidden.push(field);
    if (differs) {
      differing[field] = wanted;
      const secret = plan.secret?.(field) ?? false;
      const value = observed[field];
      // Redact the value only here, because the comparison above needs the value as the service shows it.
      const seen = typeof value === 'string' ? (pass.shown?.(value) ?? value) : value;
      drift.push({ field, desired: statusText(wanted, secret), observed: observedText(seen, wanted, secret) });
    }
    const how = rememberedAs(plan, pass, field);
    if (how === undefined) continue;
    fingerprints[field] = pass.fingerprint(wanted);
    const state = stateOfHidden(pass, field, fingerprints[field]);
    const late = overwritable(pass.memory.applied?.fingerprints[field]);
    if (late !== undefined && state === 'sent') endangered[field] = late.untilMs;
    const isUnsent = how === 'sent' && state === 'unsent' && (isHidden || differs);
    if (isUnsent && plan.sentElsewhere?.(field, pass) === true) rerecord = true;
    else if (isUnsent) unsent[field] = wanted;
    else rerecord ||= isInDoubt(pass.memory.applied?.fingerprints[field]) || (how === 'sent' && state === 'unknownKey');
  }
  return { differing, unsent, fingerprints, hidden, rerecord, overwritable: endangered, drift };
}

/**
 * Returns why status stores a fingerprint of this field; undefined if it stores none. `sent`: to know which value was
 * last sent, because the service does not always show the field, or because its drift is only reported. `set`: to know
 * that the spec once set the field.
 */
export function rememberedAs(plan: ObjectPlan, pass: Pass, field: string): 'sent' | 'set' | undefined {
  if (plan.hidden?.(field, pass) === true || plan.hiddenAtTimes?.(field) === true) return 'sent';
  if (plan.lifecycle(pass.spec).drift === 'Report') return 'sent';
  return plan.kept?.(field) === true ? 'set' : undefined;
}

/**
 * Says whether the spec's value of a field was already sent, judging by the fingerprint in status. `unknownKey` means
 * that this cannot be known, because the fingerprint was made with a key that the operator no longer has.
 */
export function stateOfHidden(pass: Pass, field: string, fingerprint: string): 'sent' | 'unsent' | 'unknownKey' {
  const recorded = pass.memory.applied;
  const late = overwritable(recorded?.fingerprints[field]);
  // An older call may still arrive and overwrite the value. The value counts as sent until that call can no longer
  // arrive. Then the value is sent once more.
  if (late?.fingerprint === fingerprint) return late.untilMs > pass.wallMs ? 'sent' : 'unsent';
  const known = late?.fingerprint ?? recorded?.fingerprints[field];
  if (known === fingerprint) return 'sent';
  if (known === undefined || isInDoubt(known) || keyIdOf(known) === keyIdOf(fingerprint)) return 'unsent';
  return recorded?.generation === pass.subject.generation ? 'unknownKey' : 'unsent';
}

/** Returns the id of the key that made a fingerprint. */
export function keyIdOf(fingerprint: string): string {
  return fingerprint.split(':', 1)[0] ?? '';
}

// ---- fingerprints of what was sent -----------------------------------------------------------------------------
//
// Fingerprints of values that were sent. They show whether a value has to be sent again, for example if the service never
// shows the value.
//
// Status stores one text for each field with such a value. The text also says how certain the value in the service is. It
// has one of these forms, where `F`, `S` and `B` are fingerprints and `T` is a time:
//   `F`        the service has accepted the value F
//   `?S T>B`   the outcome of a call with the value S, decided at T or earlier, is not known yet; B was stored before it
//   `?S T`     the outcome of that call will never be known; S is left out if several values are possible or none is known
//   `@T F`     the service has accepted F, but an older call with a different value may still arrive until the time T; after
//              T, F is sent once more
// For a create call, T is the word `never`. If the time of a call is not known, T is left out.
//
// Guarantees: if the outcome of the call with a value is unknown, the value is treated as not sent, so that the value of the
// spec is sent. After the service has refused a call, status has the fingerprints from before that call again. A value that
// an older call may overwrite is sent again when that call can no longer arrive.
//
// Why: docs/design/at-most-once.md#mark-changed-fields-as-in-doubt-before-the-call

type Fingerprints = Readonly<Record<string, string>>;
type Applied = Memory['applied'];

const doubt = '?';
const late = '@';
/**
 * Stands in a fingerprint in place of the time at which a call was decided, if the call is a create call. A create call
 * cannot overwrite a value, however late it arrives.
 */
const harmless = 'never';
/**
 * The time in a fingerprint is rounded up to a multiple of this number times `--horizon-seconds`. Without the rounding,
 * each new attempt of a call would change the fingerprint, and status would be written each time.
 */
const stepHorizons = 5;

/**
 * True if the fingerprint says that the value of its field in the service is uncertain. The reason is a call that may
 * have changed the value and whose outcome is unknown.
 */
export function isInDoubt(fingerprint: string | undefined): boolean {
  return fingerprint?.startsWith(doubt) === true;
}

/**
 * A call whose outcome is unknown. `sent` is the fingerprint of the value that the call sends; empty if that value is
 * not known. `at` is the time at which the call was decided, rounded up by `timeOf`; empty if that time is not known.
 * For a create call, `at` is the word `never`.
 */
interface Lost {
  readonly sent: string;
  readonly at: string;
}

/**
 * A call that is about to be sent: the fingerprints of the values that it sends, and the time at which it was decided.
 */
interface Sending {
  readonly fingerprints: Fingerprints;
  /**
   * The wall time at which the call was decided. Undefined for a create call, because such a call overwrites nothing,
   * even if it arrives late.
   */
  readonly wallMs: number | undefined;
  readonly horizonMs: number;
}

/**
 * Splits the fingerprint `?S T>B` that a field has during an unfinished call. Returns the value S and the time T of the
 * call, and the fingerprint B from before the call. Returns undefined for any other fingerprint.
 */
function underWay(fingerprint: string): (Lost & { readonly before: string }) | undefined {
  const end = isInDoubt(fingerprint) ? fingerprint.indexOf('>') : -1;
  return end === -1 ? undefined : { ...lostOf(fingerprint.slice(0, end)), before: fingerprint.slice(end + 1) };
}

/** Parses the fingerprint of a field whose value is uncertain, because the outcome of a call is unknown. */
function lostOf(fingerprint: string): Lost {
  const [sent = '', at = ''] = fingerprint.slice(doubt.length).split(' ');
  return { sent, at };
}

function inDoubt({ sent, at }: Lost): string {
  return at === '' ? `${doubt}${sent}` : `${doubt}${sent} ${at}`;
}

/** Marks the fingerprints of these fields as in doubt, because a call that sends the fields is about to begin. */
export function begun(applied: Applied, fields: readonly string[], sending?: Sending): Applied {
  if (applied === undefined && fields.length === 0) return undefined;
  const { generation, fingerprints } = doubted(applied, []);
  const at = sending === undefined ? '' : timeOf(sending);
  const doubtful = fields.map((field) => {
    const fingerprint = inDoubt({ sent: sending?.fingerprints[field] ?? '', at });
    return [field, `${fingerprint}>${fingerprints[field] ?? ''}`];
  });
  return { generation, fingerprints: { ...fingerprints, ...(Object.fromEntries(doubtful) as Fingerprints) } };
}

function timeOf({ wallMs, horizonMs }: Sending): string {
  const stepMs = stepHorizons * horizonMs;
  return wallMs === undefined ? harmless : isoSeconds(Math.ceil(wallMs / stepMs) * stepMs);
}

/**
 * Records that the outcome of the newest call will never be known. The fields that this call sent stay in doubt. The
 * given fields are marked as in doubt too.
 */
export function doubted(applied: Applied, fields: readonly string[]): NonNullable<Applied> {
  const { generation = -1, fingerprints = {} } = applied ?? {};
  const lasting = Object.entries(fingerprints).map(([field, fingerprint]) => [field, withoutEnd(fingerprint)]);
  const doubtful = fields.map((field) => [field, doubt]);
  return { generation, fingerprints: Object.fromEntries([...lasting, ...doubtful]) as Fingerprints };
}

/**
 * Records in the fingerprint of a field that the outcome of its unfinished call will never be known. The fingerprint
 * keeps the value of that call, unless an earlier call may still set a different value.
 */
function withoutEnd(fingerprint: string): string {
  const open = underWay(fingerprint);
  if (open === undefined) return fingerprint;
  const isAlone = !isInDoubt(open.before) && !open.before.startsWith(late);
  const isSame = isInDoubt(open.before) && lostOf(open.before).sent === open.sent;
  return inDoubt({ sent: isAlone || isSame ? open.sent : '', at: open.at });
}

/** Restores the fingerprints that status had before the newest call, because that call was not carried out. */
export function notDone(applied: Applied): Applied {
  if (applied === undefined) return undefined;
  const before = Object.entries(applied.fingerprints).flatMap(([field, fingerprint]) => {
    const known = underWay(fingerprint)?.before ?? fingerprint;
    return known === '' ? [] : [[field, known] as const];
  });
  return { ...applied, fingerprints: Object.fromEntries(before) };
}

/**
 * If an older call may still overwrite the value of a field, returns the time until which that can happen, and the
 * fingerprint of the newest value. Otherwise returns undefined.
 */
function overwritable(
  stored: string | undefined,
): { readonly untilMs: number; readonly fingerprint: string } | undefined {
  if (stored?.startsWith(late) !== true) return undefined;
  const [until = '', fingerprint = ''] = stored.slice(late.length).split(' ');
  return { untilMs: Date.parse(until), fingerprint };
}

/**
 * Returns the fingerprint to store for a value that the service has just accepted. `before` is the fingerprint from
 * before the call. If `before` shows that an older call with a different value may still arrive, the new fingerprint
 * says until when that can happen.
 */
function taken(fingerprint: string, before: string | undefined, pass: Pass): string {
  const untilMs = mayArriveUntil(fingerprint, before, pass);
  return untilMs <= pass.wallMs ? fingerprint : `${late}${isoSeconds(untilMs + 1_000)} ${fingerprint}`;
}

/**
 * Returns the time until which an older call with a different value may still arrive: its deadline plus
 * `--horizon-seconds`. If its deadline is not known, this time is counted from now. Returns minus infinity if there is
 * no such call.
 */
function mayArriveUntil(fingerprint: string, before: string | undefined, pass: Pass): number {
  const older = overwritable(before);
  if (older !== undefined) return older.untilMs;
  if (before === undefined || !isInDoubt(before)) return Number.NEGATIVE_INFINITY;
  const { sent, at } = lostOf(withoutEnd(before));
  if (sent === fingerprint || at === harmless) return Number.NEGATIVE_INFINITY;
  return (at === '' ? pass.wallMs : Date.parse(at) + pass.callDeadlineMs) + pass.horizonMs;
}

// ---- fingerprints of what was applied --------------------------------------------------------------------------
//
// The fingerprints in status tell which values were sent for fields that the service never shows. They also tell which
// fields still have a value in the service although the spec no longer sets them.

/**
 * Returns the fields that are no longer in the spec but keep their value in the service, because the API has no way to
 * clear them.
 */
export function leftoverOf(plan: ObjectPlan, pass: Pass): readonly string[] {
  if (pass.subject.deleting) return [];
  const desired = plan.desired(pass);
  return Object.keys(pass.memory.applied?.fingerprints ?? {})
    .filter((field) => desired[field] === undefined && plan.replaced?.(field, desired) !== true)
    .filter((field) => plan.kept?.(field) === true || plan.hidden?.(field, pass) === true);
}

/**
 * Returns the fingerprints of the spec's values to store after a successful call. If an older call may still overwrite
 * a value, the fingerprint of this value also says until when that can happen.
 */
function afterAnswer(
  pass: Pass,
  { fingerprints, overwritable }: Difference,
  sent: readonly string[],
): Readonly<Record<string, string>> {
  const known = pass.memory.applied?.fingerprints ?? {};
  const rows = Object.entries(fingerprints).map(([field, fingerprint]) => {
    if (sent.includes(field)) return [field, taken(fingerprint, known[field], pass)];
    return [field, field in overwritable ? known[field] : fingerprint];
  });
  return Object.fromEntries(rows) as Readonly<Record<string, string>>;
}

/**
 * Returns the values to store in status before an update is sent. They mark fields that the update sends, and of which
 * status stores fingerprints, as in doubt until the outcome of the update is known.
 */
export function whileInFlight(plan: ObjectPlan, pass: Pass, now: Fields): Pick<Call, 'whileInFlight'> {
  const { applied } = pass.memory;
  const fields = Object.keys(now).filter((field) => {
    const how = rememberedAs(plan, pass, field);
    return how === 'sent' || (how === 'set' && applied?.fingerprints[field] === undefined);
  });
  const facts = plan.requests.supposedOfUpdate?.(now, pass);
  if (fields.length === 0 && facts === undefined) return {};
  return {
    whileInFlight: {
      ...(fields.length > 0 && {
        applied: begun(applied, fields, { ...pass, fingerprints: fingerprintsOf(pass, now) }),
      }),
      ...(facts !== undefined && { facts }),
    },
  };
}

/** Maps each field to the fingerprint of its value. Fields without a value are left out. */
export function fingerprintsOf(pass: Pass, values: Fields): Fingerprints {
  const rows = Object.entries(definedIn(values));
  return Object.fromEntries(rows.map(([field, value]) => [field, pass.fingerprint(value)]));
}

/**
 * Returns the fingerprints to store in status after the whole spec was applied. `sent` lists the fields that the last
 * call sent.
 */
export function whole(plan: ObjectPlan, pass: Pass, difference: Difference, sent: readonly string[] = []): Applied {
  // Also keep the fingerprints of fields that the spec no longer sets, but whose value stays in the service.
  const leftover = only(pass.memory.applied?.fingerprints ?? {}, leftoverOf(plan, pass));
  return { generation: pass.subject.generation, fingerprints: { ...leftover, ...afterAnswer(pass, difference, sent) } };
}

/**
 * Returns the fingerprints to store in status after a call has applied only the given fields of the spec; the other
 * fields keep theirs.
 */
export function part(pass: Pass, difference: Difference, fields: readonly string[]): Applied {
  const { generation = -1, fingerprints: known = {} } = pass.memory.applied ?? {};
  return { generation, fingerprints: { ...known, ...only(afterAnswer(pass, difference, fields), fields) } };
}

/** Returns only the values of the given fields. */
export function only<Value>(
  values: Readonly<Record<string, Value>>,
  fields: readonly string[],
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(values).filter(([field]) => fields.includes(field)));
}

/**
 * Returns the fingerprints to store in status after an adopted object was read for the first time; undefined if there
 * are none to store. A field with such a fingerprint counts as applied: it is not sent before the spec changes.
 *
 * If drift is only reported, all fields that the service shows count as applied. The fields that the service never
 * shows count as applied if `spec.externalId` names the object and all other fields equal the spec.
 *
 * Why: docs/design/ownership.md#the-hidden-fields-of-an-object-adopted-by-id-are-assumed-to-match
 */
export function asFound(plan: ObjectPlan, pass: Pass, { differing }: Pick<Difference, 'differing'>): Memory['applied'] {
  const { ownership, applied, id } = pass.memory;
  if (ownership !== 'Adopted' || applied !== undefined) return undefined;
  const isReported = plan.lifecycle(pass.spec).drift === 'Report';
  const isAlike = plan.externalId(pass.spec) === id && Object.keys(differing).length === 0;
  const isHidden = (field: string): boolean => plan.hidden?.(field, pass) === true;
  const rows = Object.entries(plan.desired(pass)).filter(([field]) => (isHidden(field) ? isAlike : isReported));
  const fingerprints = fingerprintsOf(pass, Object.fromEntries(rows));
  return isReported || Object.keys(fingerprints).length > 0 ? { generation: -1, fingerprints } : undefined;
}

// ---- the operator's key ----------------------------------------------------------------------------------------
//
// The operator has one secret key. With it, the operator makes fingerprints and signs its ownership marks.

const base32 = 'abcdefghijklmnopqrstuvwxyz234567';
const nameLength = 12;
const signLength = 4;

/**
 * The key with which the operator makes fingerprints of values that the service never shows, and ownership marks for
 * objects that it creates.
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
   * Returns the fingerprint of a value, as `<keyId>:<hash>`. Equal values have equal fingerprints, and a fingerprint
   * reveals nothing else about its value.
   */
  fingerprint(value: Json): string {
    return `${this.id}:${createHmac('sha256', this.#key.reveal()).update(canonicalJson(value)).digest('hex').slice(0, 32)}`;
  }

  /**
   * Returns the ownership mark of one object in one account: `apphosting:` and 16 characters. The last four characters
   * are a checksum, which proves that the mark was made with this key.
   */
  mark(endpoint: string, accountId: string, uid: string): string {
    // Keep the word `marker`: with a different word, the operator would compute different marks, and would not
    // recognise the marks that exist already.
    return this.#signed(`apphosting:${this.#letters(`marker|${endpoint}|${accountId}|${uid}`, nameLength)}`);
  }

  /** True when the operator's key made this ownership mark. */
  isOwn(mark: string): boolean {
    return this.#signed(mark.slice(0, 'apphosting:'.length + nameLength)) === mark;
  }

  #signed(name: string): string {
    return `${name}${this.#letters(`mark of|${name}`, signLength)}`;
  }

  #letters(text: string, length: number): string {
    const hash = createHmac('sha256', this.#key.reveal()).update(text).digest();
    return [...hash.subarray(0, length)].map((byte) => base32[byte % 32] ?? '').join('');
  }
}
