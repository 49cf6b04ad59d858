import { type Area, control, route } from '../area.ts';
import type { World } from '../../store/store.ts';
import { circumstances, snapshots } from './bodies.ts';
import { takeSnapshots, tellConfiguration } from './calls/control.ts';
import { activate, configure, discardActivation, reset, validate } from './calls/requests.ts';
import { points, protections, sources } from './calls/lists.ts';
import type { ConfigurationSettings } from './model.ts';
import { configurationOf, configurations, DISK_DUE, DUE, journaledCalls, keep } from './rows.ts';
import { recoveryPoints, retainedDisks } from './rows.ts';
import { tick } from './progress.ts';

const deploys = ['svc:write:deploy', 'svc:write:dangerous'] as const;

/** Serves disaster readiness: the protection of environments, isolated validations, and the recovery of environments. */
export const disasterReadiness: Area = {
  collections: [configurations, recoveryPoints, journaledCalls, retainedDisks],
  routes: [
    route('GET /disaster-readiness/sources', ['svc:read'], sources),
    route('GET /disaster-readiness/configurations', ['svc:read'], protections),
    route('GET /disaster-readiness/points', ['svc:read'], points),
    route('POST /disaster-readiness/configure', ['svc:write:config', 'svc:write:deploy'], configure),
    route('POST /disaster-readiness/validate', ['svc:write:deploy'], validate),
    route('POST /disaster-readiness/activate', deploys, activate),
    route('POST /disaster-readiness/discard-activation', deploys, discardActivation),
    route('POST /disaster-readiness/reset', deploys, reset),
  ],
  control: [
    control(
      'PATCH /configurations/:id',
      'changes how a disaster-readiness configuration behaves, such as making steps of its operation fail, or advances the operation',
      circumstances,
      tellConfiguration,
    ),
    control('POST /configurations/:id/points', 'takes snapshots now', snapshots, takeSnapshots),
  ],
  timers: { [DUE]: wake, [DISK_DUE]: expire },
  workIn,
};

/**
 * Estimates how much work scheduled snapshots and validations cause while the clock advances by `ms` milliseconds. The
 * result is a number of firings of a simple timer. A snapshot counts as 5 firings, or as 10 if there is a warm standby;
 * a validation counts as 20.
 */
function workIn(world: World, ms: number): number {
  const work = ({ settings }: { readonly settings: ConfigurationSettings }) =>
    (settings.mode === 'warm' ? 10 : 5) / settings.snapshotIntervalMs + 20 / settings.validationIntervalMs;
  const rows = world.of(configurations).all();
  return ms * rows.reduce((sum, configuration) => sum + work(configuration), 0);
}

/** Carries out every action of a disaster-readiness configuration that is due when the configuration's timer fires. */
function wake(world: World, { configurationId }: { readonly configurationId: string }): void {
  const configuration = configurationOf(world, configurationId);
  if (configuration === undefined) return;
  keep(world, tick(world, configuration));
}

/** Deletes a retained disk when its retention ends. */
function expire(world: World, { diskId }: { readonly diskId: string }): void {
  world.of(retainedDisks).remove(diskId);
}
