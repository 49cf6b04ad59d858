import { describe, expect, it } from 'vitest';
import { Workers, type Ended, urgencies, WorkQueue } from '../../src/engine/queue.ts';
import { VirtualClock } from '../../src/cli/in-memory/virtual-clock.ts';

const quiet = () => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const metrics = { count: quiet, gauge: quiet, observe: quiet };
const troubles = { failed: () => false, went: quiet };
const entropy = { fraction: () => 0.5, uuid: () => '00000000-0000-4000-8000-000000000000' };

function workersThat(reconcile: () => Promise<Ended>) {
  const clock = new VirtualClock();
  const queue = new WorkQueue({ clock, entropy, groupOf: () => ({ namespace: '', account: '' }) });
  const sayFailed = () => Promise.resolve();
  const options = { clock, log, metrics, troubles, queue, reconcile, sayFailed, urgencyOf: () => urgencies.change };
  const workers = new Workers(options);
  workers.start(1);
  return { clock, queue, workers };
}

describe('the liveness of the workers', () => {
  it('holds for objects that were reconciled long ago and are at rest', async () => {
    const { clock, queue, workers } = workersThat(() => Promise.resolve({ is: 'settled', againInMs: undefined }));

    queue.enqueue('ContactPoint/team-a/on-call', urgencies.change);
    await clock.advance(3_600_000);

    expect(workers.stuck()).toBeUndefined();
  });

  it('ends when one reconcile does not come to an end, and names its object', async () => {
    const { clock, queue, workers } = workersThat(() => new Promise(() => undefined));

    queue.enqueue('ContactPoint/team-a/on-call', urgencies.change);
    await clock.advance(3_600_000);

    expect(workers.stuck()).toBe(
      'the reconcile of ContactPoint/team-a/on-call has not ended for more than ten minutes',
    );
  });
});
