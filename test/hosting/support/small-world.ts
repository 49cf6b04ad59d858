import type { ReadProblem, Urgency } from '../../../src/engine/ports.ts';
import { Credential } from '../../../src/hosting/credential.ts';
import { Mirror } from '../../../src/hosting/mirror/mirror.ts';
import { openTransport } from '../../../src/hosting/wire/transport.ts';
import type { WireRequest, WireResponse } from '../../../src/hosting/wire/wire.ts';
import { Secret } from '../../../src/base/json.ts';
import { VirtualClock } from '../../../src/cli/in-memory/virtual-clock.ts';
import { collector, steadyEntropy } from './around.ts';
import { answer, pathOf, scriptedWire } from './scripted-wire.ts';

/** One list as its listener heard of it. */
interface Heard {
  readonly key: string;
  readonly changed: readonly string[];
  readonly problem: ReadProblem | undefined;
}

/** What the small service shows, and how it misbehaves. */
interface World {
  points: { contactPointId: string; name: string; type: string; updatedAt?: string }[];
  status: string;
  fail: ((path: string) => WireResponse | undefined) | undefined;
  latencyMs: number;
}

/** A mirror over a small world. */
export interface MirrorOfSmallWorld {
  readonly clock: VirtualClock;
  readonly mirror: Mirror;
  /** Opens the mirror of another account behind the same credential. */
  readonly another: () => Mirror;
  readonly world: World;
  readonly heard: readonly Heard[];
  /** Of each request. */
  readonly urgencies: readonly Urgency[];
  readonly credential: Credential;
  readonly requests: readonly WireRequest[];
}

/** Opens a mirror over a small world, on a virtual clock. */
export function mirrorOfSmallWorld({
  pollMs = 60_000,
  requestsPerSecond = 5,
  concurrency = 4,
} = {}): MirrorOfSmallWorld {
  const clock = new VirtualClock();
  const { log, metrics } = collector();
  const entropy = steadyEntropy();
  const credential = new Credential(clock, entropy, metrics);
  credential.budget.join({ requestsPerSecond, concurrency });
  const world: World = {
    points: [{ contactPointId: 'cp_1', name: 'one', type: 'email' }],
    status: 'running',
    fail: undefined,
    latencyMs: 0,
  };
  const respond = (path: string): WireResponse => {
    const alert = { alertId: 'al_1', name: 'a', metric: 'm', operator: 'gt', threshold: 1, duration: '5m' };
    const bodies: Record<string, unknown> = {
      '/contact-points': { contactPoints: world.points },
      '/app-envs': { appEnvs: [{ appEnvId: 'e', appId: 'a', name: 'n', status: world.status }] },
      '/app-env/alerts': { alerts: [alert] },
      '/alert': alert,
      '/alert/refresh': { state: 'Normal' },
      '/app': { appId: 'a', name: 'n' },
      '/app-presets': { presets: [] },
    };
    return world.fail?.(path) ?? answer(200, structuredClone(bodies[path]));
  };
  const scripted = scriptedWire(async (request) => {
    if (world.latencyMs > 0) {
      await new Promise<void>((resolve) => {
        clock.after(world.latencyMs, resolve);
      });
    }
    return respond(pathOf(request));
  });
  const target = { origin: 'https://h', basePath: '', token: new Secret('t'), caBundle: undefined };
  const transport = openTransport(target, scripted.wire, clock, 30_000);
  const heard: Heard[] = [];
  const urgencies: Urgency[] = [];
  const another = () =>
    new Mirror({
      clock,
      entropy,
      log,
      metrics,
      credential,
      ask: (request, passage) => {
        urgencies.push(passage.urgency);
        return credential.exchange(transport, request, passage);
      },
      pollMs,
      onList: (key, changed, problem) => heard.push({ key, changed: [...changed], problem }),
    });
  return { clock, mirror: another(), another, world, heard, urgencies, credential, requests: scripted.requests };
}
