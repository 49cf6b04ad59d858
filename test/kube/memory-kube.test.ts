import { describeKubeContract } from './contract.ts';
import { MemoryCluster } from '../support/memory/memory-cluster.ts';
import { MemoryKube } from '../support/memory/memory-kube.ts';
import { SuspendableClock } from '../support/suspendable-clock.ts';

describeKubeContract(() =>
  Promise.resolve({
    api: new MemoryKube(new MemoryCluster(new SuspendableClock())),
    namespace: 'contract',
    close: () => Promise.resolve(),
  }),
);
