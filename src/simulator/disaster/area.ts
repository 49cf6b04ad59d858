import type { Area } from '../area.ts';
import type { World } from '../store/store.ts';
import { tick } from './progress/schedule.ts';
import type { ConfigurationSettings } from './model.ts';
import { configure } from './calls/configure.ts';
import { takeSnapshots, tellConfiguration } from './control/routes.ts';
import { activate, discardActivation, validate } from './calls/validate-and-activate.ts';
import { points, protections, sources } from './lists/list.ts';
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
    { method: 'GET', path: '/disaster-readiness/sources', scopes: ['svc:read'], handle: sources },
    { method: 'GET', path: '/disaster-readiness/configurations', scopes: ['svc:read'], handle: protections },
    { method: 'GET', path: '/disaster-readiness/points', scopes: ['svc:read'], handle: points },
    {
      method: 'POST',
      path: '/disaster-readiness/configure',
      scopes: ['svc:write:config', 'svc:write:deploy'],
      handle: configure,
    },
    { method: 'POST', path: '/disaster-readiness/validate', scopes: ['svc:write:deploy'], handle: validate },
    {
      method: 'POST',
      path: '/disaster-readiness/activate',
      scopes: ['svc:write:deploy', 'svc:write:dangerous'],
      handle: activate,
    },
    {
      method: 'POST',
      path: '/disaster-readiness/discard-activation',
      scopes: ['svc:write:deploy', 'svc:write:dangerous'],
      handle: discardActivation,
    },
    {
      method: 'POST',
      path: '/disaster-readiness/reset',
      scopes: ['svc:write:deploy', 'svc:write:dangerous'],
      handle: reset,
    },
  ],
  control: [
    {
      method: 'PATCH',
      path: '/configurations/:id',
      does: 'tells a disaster-readiness configuration what its circumstances are, or moves its operation on',
      handle: tellConfiguration,
    },
    {
      method: 'POST',
      path: '/configurations/:id/points',
      does: 'takes snapshots now',
      handle: takeSnapshots,
    },
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
