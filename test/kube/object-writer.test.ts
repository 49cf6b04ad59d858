import { describe, expect, it } from 'vitest';
import { KubeError, type KubeObject, type ObjectWriter } from '../../src/engine/ports.ts';
import { ResourceWriter } from '../../src/kube/write/object-writer.ts';
import { CollectedLog } from '../support/collected-log.ts';
import { MemoryCluster } from '../support/memory-cluster.ts';
import { MemoryKube } from '../support/memory-kube.ts';
import { SeededEntropy, VirtualClock } from '../support/virtual-clock.ts';
import { thing, things } from './example.ts';

const held = 'apphosting.dev/hosting';
const asked: readonly (readonly [string, (writer: ObjectWriter, object: KubeObject) => Promise<unknown>])[] = [
  ['reading it live', (writer, object) => writer.readLive(object)],
  ['writing its status', (writer, object) => writer.writeStatus(object, { state: 'new' })],
  ['putting the finalizer on', (writer, object) => writer.hold(object)],
  [
    'taking the finalizer off',
    (writer, object) => writer.release({ ...object, metadata: { ...object.metadata, finalizers: [held] } }),
  ],
];

describe('what is asked of Kubernetes about an object', () => {
  it.each(asked)('comes to an end though no answer ever arrives: %s', async (_what, ask) => {
    const clock = new VirtualClock();
    const cluster = new MemoryCluster(clock);
    const api = new MemoryKube(cluster);
    const object = await new MemoryKube(cluster).create(things, 'a', thing('one'));
    const entropy = new SeededEntropy(1);
    const writer = new ResourceWriter({ api, clock, entropy, log: new CollectedLog(), resourceOf: () => things });
    api.inject({ effect: 'before', outcome: 'hang' });

    const ended = ask(writer, object).then(
      () => 'answered',
      (error: unknown) => error instanceof KubeError && error.reason,
    );
    await clock.advance(60_000);

    expect(await Promise.race([ended, Promise.resolve('nothing')])).toBe('unavailable');
  });
});
