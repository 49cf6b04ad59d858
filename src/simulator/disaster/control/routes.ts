// The control surface of disaster readiness: changes the circumstances of a configuration, and takes snapshots.
import type { AreaAnswer, ControlCall } from '../../area.ts';
import { ok } from '../../area.ts';
import type { BodyFields, Reads } from '../../http/fields.ts';
import {
  choice,
  flag,
  list,
  number,
  object,
  onlyFields,
  optional,
  present,
  required,
  text,
} from '../../http/fields.ts';
import { notFound, taken } from '../../http/refusal.ts';
import { instant } from '../calls/bodies.ts';
import { snapshot } from '../progress/schedule.ts';
import { configurationItem, pointItem } from '../lists/items.ts';
import { viewOf } from '../calls/journaling.ts';
import type { ConfigurationRecord, CleanupRecord, ToldReadiness, ValidationCleanup } from '../model.ts';
import { PHASES } from '../model.ts';
import { andThen, unchanged } from '../operations.ts';
import { selectablePoints } from '../evidence/points.ts';
import { clearDisks, configurationOf, disksOf, keep } from '../rows.ts';
import { momentOf } from '../surroundings.ts';
import { tell, type Telling } from './tell.ts';

const MOST_SNAPSHOTS = 1_000;

/** Changes the circumstances of a configuration. */
export function tellConfiguration(call: ControlCall): AreaAnswer {
  const { world } = call;
  const configuration = named(call);
  const telling = tellingOf(call.body);
  const outcome = tell(configuration, telling, momentOf(world, configuration));
  if ('refused' in outcome) throw taken(outcome.message);
  keep(world, outcome);
  if (telling.pendingCleanup === null) clearDisks(world, configuration.sourceAppEnvId, 'all');
  return ok(configurationItem(outcome.configuration, disksOf(world, configuration.sourceAppEnvId), viewOf(world)));
}

/** Takes snapshots now, a millisecond apart so that they can be told apart. */
export function takeSnapshots(call: ControlCall): AreaAnswer {
  const { world, body } = call;
  const configuration = named(call);
  onlyFields(body, '', ['count']);
  const count = optional(body, 'count', number({ min: 1, max: MOST_SNAPSHOTS, whole: true })) ?? 1;
  const moment = momentOf(world, configuration);
  let outcome = unchanged(configuration);
  for (let before = count - 1; before >= 0; before -= 1) {
    outcome = andThen(outcome, (current) => snapshot(current, moment, world.now - before));
  }
  keep(world, outcome);
  const view = viewOf(world);
  const after = outcome.configuration;
  return ok({
    items: selectablePoints(after)
      .slice(-count)
      .map((point) => pointItem(after, point, view)),
  });
}

function named({ world, id }: ControlCall): ConfigurationRecord {
  const configuration = configurationOf(world, id);
  if (configuration === undefined) throw notFound(`there is no configuration "${id}"`);
  return configuration;
}

const FIELDS =
  'readiness standby failSteps hold engineUnavailableReason nextPhase setPhase nextValidation pendingCleanup validationCleanup applySeconds firstCopyBytes'.split(
    ' ',
  );

function tellingOf(body: BodyFields): Telling {
  onlyFields(body, '', FIELDS);
  return present({
    readiness: optional(body, 'readiness', orNull(readiness)),
    standby: optional(body, 'standby', standby),
    failSteps: optional(body, 'failSteps', number({ min: 0, whole: true })),
    hold: optional(body, 'hold', flag),
    engineUnavailableReason: optional(body, 'engineUnavailableReason', orNull(text())),
    nextPhase: optional(body, 'nextPhase', flag),
    setPhase: optional(body, 'setPhase', choice(PHASES)),
    nextValidation: optional(body, 'nextValidation', orNull(choice(['pass', 'fail', 'cleanupUnverifiable']))),
    pendingCleanup: optional(body, 'pendingCleanup', orNull(pendingCleanup)),
    validationCleanup: optional(body, 'validationCleanup', orNull(validationCleanup)),
    applySeconds: optional(body, 'applySeconds', number({ min: 0 })),
    firstCopyBytes: optional(body, 'firstCopyBytes', number({ min: 0 })),
  });
}

function orNull<Value>(reads: Reads<Value>): Reads<Value | null> {
  return (value, name) => (value === null ? null : reads(value, name));
}

const readiness: Reads<ToldReadiness> = (value, name) => {
  const said = object(value, name);
  onlyFields(said, name, ['state', 'reason', 'warnings']);
  return present({
    state: required(said, 'state', text()),
    reason: optional(said, 'reason', text()),
    warnings: optional(said, 'warnings', list(text())),
  });
};

const standby: Reads<NonNullable<Telling['standby']>> = (value, name) => {
  const said = object(value, name);
  onlyFields(said, name, ['shape', 'reason', 'caughtUp']);
  return present({
    shape: optional(said, 'shape', choice(['standard', 'seedBoost', 'sustained'])),
    reason: optional(said, 'reason', orNull(text())),
    caughtUp: optional(said, 'caughtUp', flag),
  });
};

const count = number({ min: 0, whole: true });

const pendingCleanup: Reads<CleanupRecord> = (value, name) => {
  const said = object(value, name);
  onlyFields(said, name, ['pendingCount', 'retainedDiskCount', 'retryingCount', 'earliestRetentionUntil']);
  return present({
    pendingCount: optional(said, 'pendingCount', count) ?? 1,
    retainedDiskCount: optional(said, 'retainedDiskCount', count) ?? 0,
    retryingCount: optional(said, 'retryingCount', count) ?? 0,
    earliestRetentionUntil: optional(said, 'earliestRetentionUntil', instant),
  });
};

const validationCleanup: Reads<ValidationCleanup> = (value, name) => {
  const said = object(value, name);
  onlyFields(said, name, ['observedAt', 'retentionUntil', 'retentionPending']);
  return present({
    observedAt: required(said, 'observedAt', instant),
    retentionUntil: optional(said, 'retentionUntil', instant),
    retentionPending: required(said, 'retentionPending', flag),
  });
};
