import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf } from '../kinds/support/world.ts';
import type { InProcess } from '../support/in-process.ts';

const hook = (path: string) => ({ url: `https://hook.example.com/${path}` });

async function withoutWatch(): Promise<InProcess> {
  return aWorld({ secretWatch: 'off' });
}

describe('where Secrets may not be watched', () => {
  it('one that is made after its contact point is found within a minute or so', async () => {
    const world = await withoutWatch();
    world.apply('ContactPoint', 'on-call', {
      webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } },
    });
    await world.run(300_000);
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('False/SecretMissing');

    world.secret('hook', hook('one'));
    await world.run(80_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
  });

  it('a value that is rotated is sent within a minute or so, once', async () => {
    const world = await withoutWatch();
    world.secret('hook', hook('one'));
    world.apply('ContactPoint', 'on-call', {
      webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } },
    });
    await world.run(300_000);
    const from = world.sent.length;

    world.secret('hook', hook('two'));
    await world.run(80_000);
    await world.run(600_000);

    expect(world.sent.slice(from).map(({ method }) => method)).toEqual(['PATCH']);
  });
});
