import type { AccountReader, AccountReading } from '../../../src/cli/account/reader.ts';
import type { OpenCluster } from '../../../src/cli/cluster/open.ts';
import { namespace, type InProcess } from '../../support/in-process.ts';
import { MemoryKube } from '../../support/memory/memory-kube.ts';

/** The cluster of a world, as a command for people sees it, and the connection that it uses. */
export function clusterOf(world: InProcess): OpenCluster & { readonly api: MemoryKube } {
  return {
    api: new MemoryKube(world.cluster),
    namespace,
    server: 'https://kubernetes.invalid',
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** The service of a world as an account that is read. */
export function readerOf(world: InProcess): AccountReader {
  const readings = new Map<string, AccountReading>();
  return {
    accountId: 'acc_demo',
    endpoint: '127.0.0.1:8088',
    asOfMs: world.clock.wall(),
    read: async ({ path, query = {} }) => {
      const address = `${path}?${new URLSearchParams(query).toString()}`;
      const known = readings.get(address);
      if (known !== undefined) return known;
      const { status, body } = await world.request('GET', address);
      const reading: AccountReading = { is: 'answered', status, body };
      readings.set(address, reading);
      return reading;
    },
    readings: () => [...readings],
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
