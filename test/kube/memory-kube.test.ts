import { describeKubeContract } from './contract.ts';
import { MemoryCluster } from '../support/memory/memory-cluster.ts';
import { MemoryKube } from '../support/memory/memory-kube.ts';
import { VirtualClock } from '../../src/cli/in-memory/virtual-clock.ts';

describeKubeContract(() =>
  Promise.resolve({
    api: new MemoryKube(new MemoryCluster(new VirtualClock())),
    namespace: 'contract',
    close: () => Promise.resolve(),
  }),
);
