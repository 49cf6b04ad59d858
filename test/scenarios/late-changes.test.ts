import { describe, expect, it } from 'vitest';
import { eventually } from './support/kubernetes.ts';
import { aSpoiledStage } from './support/spoiled-stage.ts';
import type { Tenant, TenantKind } from './support/tenant.ts';

/*
 * A change of what the service never shows is held between operator and service until after the operator has been killed and the next one
 * has sent a newer change.
 */

/** Time enough for the next operator to start on a slow machine, before the held call counts as one that no longer arrives. */
const stage = aSpoiledStage('namespaced', '--call-deadline-seconds', '12');

/** A resource with a field that the service never shows. */
interface Changed {
  readonly kind: TenantKind;
  readonly name: string;
  readonly spec: (value: string) => object;
  /** The object with that field, as the service holds it. */
  readonly held: (collections: Collections) => string;
}

type Collections = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

const contactPoint: Changed = {
  kind: 'ContactPoint',
  name: 'late-point',
  spec: (value) => ({ email: { addresses: [`${value}@example.com`] } }),
  held: ({ contactPoints = [] }) => JSON.stringify(contactPoints.find(({ name }) => name === 'late-point')),
};

const app: Changed = {
  kind: 'HostedApp',
  name: 'late-app',
  spec: (value) => ({ port: 8080, image: { reference: `r/web:${value}` } }),
  held: ({ apps = [] }) => JSON.stringify(apps.find(({ name }) => name === 'late-app')),
};

async function versionOf(tenant: Tenant, kind: TenantKind, name: string): Promise<string> {
  return (await tenant.get(kind, name))?.metadata.resourceVersion ?? '';
}

async function heldByService({ held }: Changed): Promise<string> {
  const { collections } = (await stage().service.control('GET', '/world')) as { collections: Collections };
  return held(collections);
}

describe('a change whose answer was lost with the operator, and that arrives after the newer one', () => {
  it('is told as in doubt, and does not stay in the service', async () => {
    const { proxy, aTenant, killOperator, startOperator } = stage();
    const tenant = await aTenant();
    const all = [contactPoint, app];
    const apply = (value: string) => Promise.all(all.map((one) => tenant.apply(one.kind, one.name, one.spec(value))));
    const hold = async (value: string, one: Changed) =>
      new RegExp(`\\b${value}\\b`, 'u').test(await heldByService(one));
    await apply('first');
    for (const { kind, name } of all) await tenant.becomes(kind, name, 'True/InSync');

    const late = Promise.withResolvers<void>();
    const arrivals: Promise<unknown>[] = [];
    proxy.spoil = (method, _path, body) => {
      if (method !== 'PATCH' || !/\bold\b/u.test(body)) return undefined;
      return async ({ forward }) => {
        const arrival = late.promise.then(forward);
        arrivals.push(arrival);
        await arrival;
      };
    };
    await apply('old');
    await eventually('both changes are held', async () => arrivals.length === all.length);
    await killOperator();
    await apply('new');
    const versions = await Promise.all(all.map(({ kind, name }) => versionOf(tenant, kind, name)));
    await startOperator();
    for (const one of all) await eventually(`${one.kind} is changed`, () => hold('new', one));
    late.resolve();
    await Promise.all(arrivals);
    for (const one of all) expect(await hold('old', one)).toBe(true);

    for (const [at, one] of all.entries()) {
      await tenant.becomes(one.kind, one.name, 'True/InSync');
      expect(await hold('new', one)).toBe(true);
      const reasons = await tenant.reasonsSince(one.kind, one.name, versions[at] ?? '');
      expect(reasons).toContain('InDoubt');
      expect(reasons.indexOf('InSync')).toBe(reasons.length - 1);
    }
  });
});
