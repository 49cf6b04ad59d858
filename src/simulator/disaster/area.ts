import { type Area, control, route } from '../area.ts';
import type { World } from '../store/store.ts';
import { tick } from './schedule.ts';
import type { ConfigurationSettings } from './model.ts';
import { configure } from './calls/configure.ts';
import { takeSnapshots, tellConfiguration } from './calls/routes.ts';
import { activate, discardActivation, validate } from './calls/journaled.ts';
import { points, protections, sources } from './calls/lists.ts';
import { reset } from './calls/reset.ts';
import {
  clearDisks,
  configurationOf,
  configurations,
  DUE,
  journaledCalls,
  keepTicked,
  recoveryPoints,
  retainedDisks,
} from './rows.ts';
import { momentOf } from './surroundings.ts';

/** Disaster readiness: protection, isolated checks, and recovered environments. */
export const disasterReadiness: Area = {
  name: 'disasterReadiness',
  collections: [configurations, recoveryPoints, journaledCalls, retainedDisks],
  routes: [
    route('GET /disaster-readiness/sources', ['svc:read'], sources),
    route('GET /disaster-readiness/configurations', ['svc:read'], protections),
    route('GET /disaster-readiness/points', ['svc:read'], points),
    route('POST /disaster-readiness/configure', ['svc:write:config', 'svc:write:deploy'], configure),
    route('POST /disaster-readiness/validate', ['svc:write:deploy'], validate),
    route('POST /disaster-readiness/activate', ['svc:write:deploy', 'svc:write:dangerous'], activate),
    route(
      'POST /disaster-readiness/discard-activation',
      ['svc:write:deploy', 'svc:write:dangerous'],
      discardActivation,
    ),
    route('POST /disaster-readiness/reset', ['svc:write:deploy', 'svc:write:dangerous'], reset),
  ],
  control: [
    control(
      'PATCH /configurations/:id',
      'tells a disaster-readiness configuration what its circumstances are, or moves its operation on',
      tellConfiguration,
    ),
    control('POST /configurations/:id/points', 'takes snapshots now', takeSnapshots),
  ],
  timers: { [DUE]: wake },
  workIn,
};

/** A snapshot, the change that it is for a standby, and the few steps of a check weigh several small timers each. */
function workIn(world: World, ms: number): number {
  const work = ({ settings }: { readonly settings: ConfigurationSettings }) =>
    (settings.mode === 'warm' ? 10 : 5) / settings.snapshotIntervalMs + 20 / settings.validationIntervalMs;
  return (
    ms *
    world
      .of(configurations)
      .all()
      .reduce((sum, configuration) => sum + work(configuration), 0)
  );
}

/** Does what is due for one configuration. */
function wake(world: World, { configurationId }: { readonly configurationId: string }): void {
  const configuration = configurationOf(world, configurationId);
  if (configuration === undefined) return;
  clearDisks(world, configuration.sourceAppEnvId, 'expired');
  keepTicked(world, configuration, tick(configuration, momentOf(world, configuration)));
}
