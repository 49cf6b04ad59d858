/** What a random life is made of: the resources that may be in it, and what may happen to a request. */
import type { Disturbance } from '../../support/disturbed-wire.ts';
import { SeededEntropy } from '../../../src/cli/in-memory/virtual-clock.ts';
import { accessSubjects } from './whole-access.ts';

/** Numbers, choices and coins of one seed. */
export class Draw {
  readonly #entropy: SeededEntropy;

  constructor(seed: number) {
    this.#entropy = new SeededEntropy(seed * 7_919 + 3);
  }

  below(count: number): number {
    return Math.floor(this.#entropy.fraction() * count);
  }

  chance(share: number): boolean {
    return this.#entropy.fraction() < share;
  }

  of<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to choose from');
    return item;
  }
}

/** A resource that may exist in the world. */
export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly within: string;
  readonly spec: (draw: Draw) => object;
}

/** Values that must be seen nowhere but in their Secret. */
export const secrets = ['planted-hook-one', 'planted-hook-two', 'planted-hook-three'] as const;

function lifecycle(draw: Draw, spec: object): object {
  if (draw.chance(0.6)) return spec;
  return {
    ...spec,
    lifecycle: {
      ...(draw.chance(0.3) && { onDelete: draw.of(['Delete', 'Retain']) }),
      ...(draw.chance(0.3) && { drift: draw.of(['Correct', 'Report']) }),
      ...(draw.chance(0.3) && { onMissing: draw.of(['Recreate', 'Stall']) }),
      ...(draw.chance(0.2) && { adoption: draw.of(['Never', 'ById', 'ByName']) }),
      ...(draw.chance(0.15) && { managementPolicy: draw.of(['Manage', 'Observe']) }),
    },
  };
}

function contactPoint(within: string, name: string, isHook: boolean): Subject {
  const way = (draw: Draw) =>
    isHook
      ? {
          webhook: {
            url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } },
            username: draw.of(['us', 'them']),
          },
        }
      : { email: { addresses: [`a${draw.below(3)}@example.com`] } };
  const names = [`${within}-${name}`, `${within}-${name}-too`, 'shared'];
  const spec = (draw: Draw) => lifecycle(draw, { name: draw.of(names), ...way(draw) });
  return { kind: 'ContactPoint', name, within, spec };
}

function alert(within: string, name: string, appEnvId: string, points: readonly string[]): Subject {
  const spec = (draw: Draw) =>
    lifecycle(draw, {
      environmentRef: { externalId: appEnvId },
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      threshold: 50 + draw.below(5),
      enabled: draw.chance(0.8),
      contactPointRefs: [{ name: draw.of(points) }],
    });
  return { kind: 'MetricAlert', name, within, spec };
}

/** Every resource that people write. */
export const subjects: readonly Subject[] = [
  contactPoint('team', 'ops', false),
  contactPoint('team', 'on-call', false),
  contactPoint('team', 'hook', true),
  contactPoint('side', 'ops', false),
  alert('team', 'cpu', 'env_web_prod', ['ops', 'on-call']),
  alert('team', 'staging', 'env_web_staging', ['ops', 'hook']),
  alert('side', 'cpu', 'env_web_prod', ['ops']),
  {
    kind: 'HostedApp',
    name: 'shop',
    within: 'team',
    spec: (draw) => ({
      preset: 'CUSTOM',
      port: draw.of([8080, 9090]),
      image: { reference: `registry.example.com/shop:${1 + draw.below(2)}` },
      lifecycle: { onDelete: 'Delete' },
    }),
  },
  {
    kind: 'AppEnvironment',
    name: 'staging',
    within: 'team',
    spec: (draw) => ({
      externalId: 'env_web_staging',
      powerState: draw.of(['Running', 'Running', 'Stopped']),
      deploy: { image: `registry.example.com/web:${draw.below(3)}`, onBind: 'Deploy' },
    }),
  },
  ...accessSubjects,
];

const forged = (status: number, text: string) => ({ status, text });
/** What may happen to a request to the service. */
export const disturbances: readonly Disturbance[] = [
  'refuseConnection',
  'loseBefore',
  'loseAnswer',
  'hangBefore',
  'hangAfter',
  { lateMs: 700 },
  { lateMs: 40_000 },
  { lateMs: 110_000 },
  { insteadOf: forged(500, '{"error":"boom"}') },
  { afterwards: forged(500, '{"error":"boom"}') },
  { afterwards: forged(502, '<html>bad gateway</html>') },
  { insteadOf: forged(408, '') },
  { insteadOf: { status: 429, headers: { 'retry-after': '7' } } },
  { insteadOf: forged(429, '') },
  { insteadOf: forged(401, '{"error":"no"}') },
  { insteadOf: forged(409, '{"error":"busy"}') },
  { afterwards: forged(200, '{"oops') },
  { afterwards: forged(200, '') },
];
