import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, statusOf } from '../../kinds/support/world.ts';

describe('an object that cannot be seen for a while', () => {
  it('keeps what was last known of it, and does not say it anew afterwards', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'ops', { email: { addresses: ['a@example.com'] }, lifecycle: { drift: 'Report' } });
    await world.run(5_000);
    const { externalId: contactPointId } = statusOf(world, 'ContactPoint', 'ops') as { externalId: string };
    await world.request('PATCH', '/contact-point', { contactPointId, name: 'renamed' });
    await world.run(70_000);
    const shown = { conditions: ['Drifted', 'Propagated'], drift: [{ field: 'name' }] };
    const seen = () => {
      const status = world.get('ContactPoint', 'ops')?.status as { drift?: readonly object[] };
      const conditions = ['Drifted', 'Propagated'].filter((type) => conditionOf(world, 'ContactPoint', 'ops', type));
      return { conditions, drift: status.drift };
    };
    expect(seen()).toMatchObject(shown);

    // One list lacks it and one direct read does not find it: not gone yet, but not seen either.
    world.interference = ({ method, path }) => {
      if (method !== 'GET') return undefined;
      if (path.endsWith('/contact-points')) return { insteadOf: { status: 200, text: '{"contactPoints":[]}' } };
      return path.endsWith('/contact-point') ? { insteadOf: { status: 404, text: '{"error":"no"}' } } : undefined;
    };
    await world.run(75_000);
    expect(conditionOf(world, 'ContactPoint', 'ops')).toBe('False/ObjectMissing');
    expect(seen()).toMatchObject(shown);

    world.interference = () => undefined;
    await world.run(130_000);

    expect(conditionOf(world, 'ContactPoint', 'ops')).toBe('True/DriftReported');
    expect(seen()).toMatchObject(shown);
  });
});
