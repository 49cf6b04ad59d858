import { afterAll, beforeAll } from 'vitest';
import { startHostingService, type HostingService } from '../hosting-service.ts';
import { connect, sharedKubernetes, type Api } from '../kubernetes.ts';
import { aPost, startOperator, type OperatorProcess } from '../operator-process.ts';
import { spoilingProxy, type SpoilingProxy } from '../spoiling-proxy.ts';
import { Tenant } from './tenant.ts';

/** What all tests of a file play on: an operator, the service, and a proxy between them that spoils what it is told to. */
export interface SpoiledStage {
  readonly service: HostingService;
  readonly proxy: SpoilingProxy;
  /** A tenant whose account is Ready and whose requests go through the proxy; more of the account's spec, where it is not all defaults. */
  readonly aTenant: (spec?: object) => Promise<Tenant>;
}

/** Sets a stage for all tests of a file, with these flags of the operator; what it returns is there from the first test on. */
export function aSpoiledStage(...flags: readonly string[]): () => SpoiledStage {
  const plane = sharedKubernetes();
  const api = connect(plane);
  let stage: SpoiledStage;
  let namespace: string;
  let operator: OperatorProcess;
  beforeAll(async () => {
    const [service, post] = await Promise.all([startHostingService(), aPost(plane, api, 'namespaced')]);
    const proxy = await spoilingProxy(service.url);
    const aTenant = (spec?: object) => arrive(api, service, proxy, post.namespace, spec);
    stage = { service, proxy, aTenant };
    namespace = post.namespace;
    operator = await startOperator(post, '--namespace', namespace, ...flags);
  });
  afterAll(async () => {
    // First the proxy: what hangs there is over, and the operator ends at once.
    await stage.proxy.close();
    await operator.end();
    await stage.service.end();
    await api.close();
  });
  return () => stage;
}

/** A new tenant in this namespace. */
async function arrive(
  api: Api,
  service: HostingService,
  proxy: SpoilingProxy,
  namespace: string,
  spec: object = {},
): Promise<Tenant> {
  const tenant = await Tenant.arrive(api, service, namespace, 'bare');
  await tenant.secret('hosting-credentials', { baseUrl: proxy.url, token: tenant.token });
  const credentialsRef = { name: 'hosting-credentials' };
  await tenant.apply('HostingAccount', 'default', { externalId: tenant.accountId, credentialsRef, ...spec });
  await tenant.becomes('HostingAccount', 'default', 'True/InSync');
  return tenant;
}
