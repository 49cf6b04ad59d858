import { sameJson, type Json, Secret } from '../../../base/json.ts';
import type { Pass } from '../contract/pass.ts';
import type { Fields, ObjectPlan } from './plan.ts';
import { isInDoubt, overwritable } from './sent-fingerprints.ts';
import type { Drift } from '../contract/step.ts';

/** How the spec differs from the service. */
export interface Difference {
  /** Fields that the service shows with another value. */
  readonly differing: Readonly<Record<string, Json>>;
  /** Fields whose wanted value is not the one last sent, of those that the service never shows, or whose drift is only reported. */
  readonly unsent: Readonly<Record<string, Json>>;
  /** Fields whose fingerprint is remembered, with that of what is wanted. */
  readonly prints: Readonly<Record<string, string>>;
  /** Fields that are wanted and that the service never shows. */
  readonly hidden: readonly string[];
  /** The fingerprints are to be written down, though nothing is to be sent. */
  readonly rerecord: boolean;
  /** Fields whose newest value an older call may still overwrite, with the wall time until when. */
  readonly overwritable: Readonly<Record<string, number>>;
  readonly drift: readonly Drift[];
}

/** Whether two values are the same, looking into secrets. */
export function sameValue(a: Json | undefined, b: Json | undefined): boolean {
  return sameJson(revealed(a), revealed(b));
}

/** True if a field has the wanted value. A name may differ in Unicode form and outer spaces. */
export function sameField(field: string, wanted: Json | undefined, seen: Json | undefined): boolean {
  if (sameValue(wanted, seen)) return true;
  return field === 'name' && typeof wanted === 'string' && typeof seen === 'string' && isSameName(wanted, seen);
}

/** Whether two names are one: the service may compose characters (NFC) or trim what it was sent. */
export function isSameName(a: string, b: string): boolean {
  return a === b || a.normalize('NFC').trim() === b.normalize('NFC').trim();
}

function revealed(value: Json | undefined): unknown {
  if (value instanceof Secret) return value.reveal();
  if (Array.isArray(value)) return value.map((item: Json) => revealed(item));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revealed(item)]));
  }
  return value;
}

/** A value as status may show it: short, and never a secret. */
export function shown(value: Json | undefined, secret: boolean): string {
  if (value === undefined) return '(unset)';
  if (secret || value instanceof Secret) return '(redacted)';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

/** The service's value of a drifted field for status. Unknown URLs are hidden, because they may contain a signature. */
export function shownInstead(observed: Json | undefined, wanted: Json | undefined, secret: boolean): string {
  const asked = shown(wanted, secret);
  return shown(observed, secret)
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S+/giu, (address) => (asked.includes(address) ? address : '[url]'))
    .replaceAll(/\p{C}+/gu, ' ');
}

/** Redacts an observed value, which was kept unredacted for the comparison. */
function withoutSecrets<Spec, Facts>({ shown: safe }: Pass<Spec, Facts>, value: Json | undefined): Json | undefined {
  return typeof value === 'string' && safe !== undefined ? safe(value) : value;
}

/** Compares what the spec wants with what the service shows, and what it never shows with what was last sent. */
export function compare<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  observed: Fields,
): Difference {
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
      const seen = withoutSecrets(pass, observed[field]);
      drift.push({ field, desired: shown(wanted, secret), observed: shownInstead(seen, wanted, secret) });
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
 * Why a field has a fingerprint: `sent`, to know the value last sent where the service does not show it or drift is only
 * reported; `set`, to know that it was set once. Undefined for a field without one.
 */
export function rememberedAs<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  field: string,
): 'sent' | 'set' | undefined {
  if (plan.hidden?.(field, pass) === true || plan.hiddenAtTimes?.(field) === true) return 'sent';
  if (plan.lifecycle(pass.spec).drift === 'Report') return 'sent';
  return plan.kept?.(field) === true ? 'set' : undefined;
}

/** A fingerprint of a lost key says nothing; while the spec is the one that was applied, it is taken as unchanged. */
export function stateOfHidden<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  field: string,
  print: string,
): 'sent' | 'unsent' | 'unknownKey' {
  const recorded = pass.memory.applied;
  const late = overwritable(recorded?.prints[field]);
  // An older call may have overwritten it: it is sent once more when that call can no longer arrive.
  if (late?.print === print) return late.untilMs > pass.wallMs ? 'sent' : 'unsent';
  const known = late?.print ?? recorded?.prints[field];
  if (known === print) return 'sent';
  if (known === undefined || isInDoubt(known) || keyOf(known) === keyOf(print)) return 'unsent';
  return recorded?.generation === pass.subject.generation ? 'unknownKey' : 'unsent';
}

/** The key that a fingerprint was made with, by its name. */
export function keyOf(print: string): string {
  return print.split(':', 1)[0] ?? '';
}
