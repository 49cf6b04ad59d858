// The control surface of disaster readiness: changes the circumstances of a configuration, and takes snapshots.
import { type AreaAnswer, type ControlCall, ok } from '../../area.ts';
import { number, onlyFields, optional } from '../../http/fields.ts';
import { found, taken } from '../../http/refusal.ts';
import { snapshot } from '../schedule.ts';
import { configurationItem, pointItem } from './items.ts';
import type { Configuration } from '../model.ts';
import { andThen, unchanged } from '../operations.ts';
import { selectablePoints } from '../evidence.ts';
import { clearDisks, configurationOf, disksOf, keep } from '../rows.ts';
import { momentOf } from '../surroundings.ts';
import { tell } from './control.ts';
import { circumstances } from './telling.ts';

/** Changes the circumstances of a configuration. */
export function tellConfiguration(call: ControlCall): AreaAnswer {
  const { world } = call;
  const configuration = named(call);
  const { sourceAppEnvId } = configuration;
  const telling = circumstances(call.body, '');
  const outcome = tell(configuration, telling, momentOf(world, configuration));
  if ('refused' in outcome) throw taken(outcome.message);
  keep(world, outcome);
  if (telling.pendingCleanup === null) clearDisks(world, sourceAppEnvId, 'all');
  return ok(configurationItem(outcome.configuration, disksOf(world, sourceAppEnvId), world));
}

/** Takes snapshots now, a millisecond apart so that they can be told apart. */
export function takeSnapshots(call: ControlCall): AreaAnswer {
  const { world, body } = call;
  const configuration = named(call);
  onlyFields(body, '', ['count']);
  const count = optional(body, 'count', number({ min: 1, max: 1_000, whole: true })) ?? 1;
  const moment = momentOf(world, configuration);
  let outcome = unchanged(configuration);
  for (let before = count - 1; before >= 0; before -= 1) {
    outcome = andThen(outcome, (current) => snapshot(current, moment, world.now - before));
  }
  keep(world, outcome);
  const after = outcome.configuration;
  const points = selectablePoints(after).slice(-count);
  return ok({ items: points.map((point) => pointItem(after, point, world)) });
}

function named({ world, id }: ControlCall): Configuration {
  return found(configurationOf(world, id), `there is no configuration "${id}"`);
}
