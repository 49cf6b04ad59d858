/** The schema of the status fields that every kind has. A status is cut to this schema before it is written. */
import {
  choice,
  facts,
  flag,
  handledToken,
  idAsShown,
  integer,
  listByKey,
  listOf,
  mapOf,
  shown,
  text,
  time,
} from './schema.ts';

const generation = (description: string) => integer(description, { min: -1, max: 9_007_199_254_740_991 });
const host = (description: string) => text(description, { max: 300 });

/** The schema of a condition. Its limits are those of metav1.Condition. */
export const Condition = shown('One aspect of the object.', {
  type: text('What it is about: Ready, Reconciling, Stalled, Synced, or an aspect of this kind.', {
    min: 1,
    max: 316,
    pattern: '^[A-Za-z][A-Za-z0-9]*$',
  }),
  status: choice('Whether it holds.', ['True', 'False', 'Unknown']),
  observedGeneration: generation('The generation of the spec that it is about.').optional(),
  lastTransitionTime: time('When its status last changed.'),
  reason: text('Why, as one word; the reference page of the kind explains each.', {
    min: 1,
    max: 1024,
    pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
  }),
  message: text('Why, as a sentence.', { max: 32_768 }),
});

/** The greatest number of object ids that the journal entry of a create call can list as existing before the call. */
export const mostExcluded = 1_000;

/** The schema of a journal entry in status: a call that must not happen twice. */
export const Journal = shown('A call that was begun and must not happen twice; written before anything is sent.', {
  operation: text('What it does.', { max: 64 }),
  attempt: integer('Which attempt at the call it is.', { min: 0, max: 1_000_000 }),
  endpoint: host('The host that it is sent to.'),
  accountId: text('The account that it is sent to.', { max: 128 }),
  startedAt: text('When it was begun.', { max: 64 }),
  deadlineSeconds: integer('How long it may take, in seconds.', { min: 0, max: 1_000_000 }),
  digest: text('A keyed fingerprint of what is sent.', { max: 256 }),
  create: shown('What a creation needs to be found again when its answer is lost.', {
    collection: text('The list of the service that the new object belongs to.', { max: 256 }),
    name: text('The name of the new object.', { max: 256 }),
    excluded: listOf('Ids of the objects of that name that were there before.', idAsShown('An id.'), {
      max: mostExcluded,
    }),
    serviceTime: text("The service's own clock when the ids in excluded were read.", { max: 64 }).optional(),
  }).optional(),
  conflicted: text('What the service said when it answered with a conflict; one fresh read decides what that was.', {
    max: 1024,
  }).optional(),
  before: text('How the object looked right before the call.', { max: 256 }).optional(),
  requestId: text('The id under which the service knows the call.', { max: 64 }).optional(),
  payload: text('The exact body of a call that the service knows by its id.', { max: 32_768 }).optional(),
});

const value = (description: string) => text(description, { max: 1024 });

/**
 * The schema of `status.internal.applied`: the generation whose whole spec was applied last, and fingerprints of values
 * that the service does not show.
 */
export const Applied = shown('What was last applied as a whole.', {
  generation: generation('The generation of the spec.'),
  prints: mapOf('Keyed fingerprints of what the service does not show back.', text('A fingerprint.', { max: 256 }), {
    maxProperties: 600,
    maxKeyLength: 300,
  }),
  unshown: flag('True when the service accepted a change but no read since shows it.').optional(),
});

/** The schema of a difference between the spec and the service. */
export const Drift = shown('A difference.', {
  field: text('The field.', { max: 256 }),
  desired: value('What the spec asks for; (redacted) for a secret.'),
  observed: value('What the service shows; (redacted) for a secret.'),
});

/**
 * The fields under `status.internal` that the operator reads back. They are never cut, because the operator could not
 * use a cut value.
 */
export const InternalStatus = {
  journal: Journal.optional(),
  applied: Applied.optional(),
  binding: shown('Where the object is bound to; nothing is sent anywhere else.', {
    endpoint: host('The host of the service.'),
    accountId: text('The account.', { max: 128 }),
  }).optional(),
  ownership: choice(
    'Created by this resource, Adopted because it existed before, or Presumed to be the one that a lost call created.',
    ['Created', 'Adopted', 'Presumed'],
  ).optional(),
};

/** The schema of those status fields of every kind that the engine writes. */
export const CommonStatus = facts({
  observedGeneration: generation(
    'The generation of the spec that this status is about; -1 before the first look.',
  ).optional(),
  conditions: listByKey('The state of the object, one aspect each; Ready sums them up.', Condition, ['type'], {
    max: 20,
  }).optional(),
  lastHandledReconcileAt: handledToken('apphosting.dev/reconcile-at'),
  drift: listOf('Where the service differs from the spec.', Drift, { max: 100 }).optional(),
  unverified: listOf(
    'Fields that are written but never shown back, so that a difference would not be noticed.',
    text('A field.', { max: 256 }),
    { max: 100 },
  ).optional(),
  leftover: listOf('What an earlier spec set and the interface cannot take back.', text('A field.', { max: 256 }), {
    max: 100,
  }).optional(),
  wouldDo: text('The next call that would be made, in words, while the object is only observed.', {
    max: 1024,
  }).optional(),
  truncated: listByKey(
    'Lists of this status that were cut to fit.',
    shown('A list.', {
      field: text('The list.', { max: 256 }),
      total: integer('How many entries there are.', { min: 0, max: 2_000_000_000 }),
    }),
    ['field'],
    { max: 20 },
  ).optional(),
});

/** Builds the schema of the status field that contains an object's id in the service. */
export function idOf(kind: string, word: string) {
  return idAsShown(`The id of the ${kind} in the service (interface: ${word}).`).optional();
}
