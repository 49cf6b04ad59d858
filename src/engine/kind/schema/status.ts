/**
 * The schema of the status fields that every kind has. Before a status is written, everything that does not fit this
 * schema is shortened or left out.
 */
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
export const Condition = shown('A condition: one aspect of the state of the object.', {
  type: text('The type of the condition: Ready, Reconciling, Stalled, Synced, or a type that only some kinds have.', {
    min: 1,
    max: 316,
    pattern: '^[A-Za-z][A-Za-z0-9]*$',
  }),
  status: choice('The status of the condition.', ['True', 'False', 'Unknown']),
  observedGeneration: generation('The generation of the spec for which the condition was computed.').optional(),
  lastTransitionTime: time('The time at which the status of the condition last changed.'),
  reason: text(
    'The reason for the status of the condition, as one word; the reference page of the kind explains each reason.',
    { min: 1, max: 1024, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' },
  ),
  message: text('The reason for the status of the condition, as a sentence.', { max: 32_768 }),
});

/**
 * The greatest number of object ids in the journal entry of a create call. The ids are those of the objects that had
 * the same name before the call.
 */
export const mostExcluded = 1_000;

/** The schema of a journal entry in status: a call that must not happen twice. */
export const Journal = shown(
  'A call that must not happen twice. The operator writes this entry before it sends the call.',
  {
    operation: text('The operation that the call carries out, such as create.', { max: 64 }),
    attempt: integer('The number of this attempt at the call, beginning with 1.', { min: 0, max: 1_000_000 }),
    endpoint: host('The host to which the call is sent.'),
    accountId: text('The account to which the call is sent.', { max: 128 }),
    startedAt: text('The time at which the operator decided to send the call.', { max: 64 }),
    deadlineSeconds: integer('The time limit of the call, in seconds.', { min: 0, max: 1_000_000 }),
    digest: text('A fingerprint of the request, made with the secret key of the operator.', { max: 256 }),
    create: shown('Data to find the created object when the outcome of a create call is not known.', {
      collection: text('The list of the service in which the new object will appear.', { max: 256 }),
      name: text('The name of the new object, or the id of what a recovery request is about.', { max: 256 }),
      excluded: listOf('Ids of the objects that had this name before the call.', idAsShown('An id.'), {
        max: mostExcluded,
      }),
      serviceTime: text('When the list before the call was read, by the clock of the service.', { max: 64 }).optional(),
    }).optional(),
    conflicted: text(
      'The message with which the service refused the call. An earlier attempt may have succeeded; the operator reads the service once more to find out.',
      { max: 1024 },
    ).optional(),
    before: text('The state of the object right before the call.', { max: 256 }).optional(),
    requestId: text('The id of the request, by which the service recognises a repeated call.', { max: 64 }).optional(),
    payload: text(
      'The exact body of a disaster-readiness request; when the operator sends the request again, it sends the same bytes.',
      { max: 32_768 },
    ).optional(),
  },
);

const value = (description: string) => text(description, { max: 1024 });

/**
 * The schema of `status.internal.applied`: the newest generation whose whole spec was applied, and fingerprints of
 * values that the service does not show.
 */
export const Applied = shown('What the operator remembers of the last spec that it applied completely.', {
  generation: generation('The generation of the last spec that was applied completely.'),
  fingerprints: mapOf(
    'Fingerprints of values that the service does not show, made with the secret key of the operator.',
    text('A fingerprint.', { max: 256 }),
    { maxProperties: 600, maxKeyLength: 300 },
  ),
  unshown: flag('True when the service accepted a change but no later read shows the change.').optional(),
});

/** The schema of an entry in `status.drift`: a field whose value in the service differs from the spec. */
export const Drift = shown('A difference between the spec and the service.', {
  field: text('The field.', { max: 256 }),
  desired: value('The value in the spec, cut if it is long; an id for a reference; (redacted) for a secret.'),
  observed: value('The value that the service shows, cut if it is long; (redacted) for a secret.'),
});

/**
 * The fields under `status.internal` that the operator reads back. They are never cut to fit their schema, because the
 * operator could not use a cut value.
 */
export const InternalStatus = {
  journal: Journal.optional(),
  applied: Applied.optional(),
  binding: shown(
    'The host and the account to which the object is bound. Nothing is sent to a different account. Nothing is sent to a different host unless the annotation accept-endpoint of the account names that host.',
    { endpoint: host('The host of the service.'), accountId: text('The account.', { max: 128 }) },
  ).optional(),
  ownership: choice(
    'Where the object comes from. Created means that this resource created it. Adopted means that it existed before. Presumed means that it is probably the result of a create call whose outcome is not known.',
    ['Created', 'Adopted', 'Presumed'],
  ).optional(),
};

/** The schema of the status fields that every kind has and that the engine writes. */
export const CommonStatus = facts({
  observedGeneration: generation('The generation of the spec that this status is about; -1 at first.').optional(),
  conditions: listByKey(
    'The conditions of the object, one for each aspect of its state; Ready sums them up.',
    Condition,
    ['type'],
    { max: 20 },
  ).optional(),
  lastHandledReconcileAt: handledToken('apphosting.dev/reconcile-at'),
  drift: listOf('The differences between the spec and the service.', Drift, { max: 100 }).optional(),
  unverified: listOf(
    'Fields that the operator sends but that the service never shows, so that the operator cannot notice a difference.',
    text('A field.', { max: 256 }),
    { max: 100 },
  ).optional(),
  leftover: listOf(
    'Fields that an earlier spec set and that keep their value in the service, because leaving a field out of a request does not clear it.',
    text('A field.', { max: 256 }),
    { max: 100 },
  ).optional(),
  wouldDo: text('The next call that the operator would send if it were allowed to.', { max: 1024 }).optional(),
  truncated: listByKey(
    'Lists in this status that were shortened to fit the schema.',
    shown('A shortened list.', {
      field: text('The name of the list.', { max: 256 }),
      total: integer('The number of entries before the list was shortened.', { min: 0, max: 2_000_000_000 }),
    }),
    ['field'],
    { max: 20 },
  ).optional(),
});

/** Builds the schema of the status field that contains an object's id in the service. */
export function idOf(kind: string, word: string) {
  return idAsShown(`The id of the ${kind} in the service (API field: ${word}).`).optional();
}
