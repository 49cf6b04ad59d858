import { defineKind } from '../../engine/kind/contract/define.ts';
import { accountDecisions } from './hosting-account.ts';
import { identity, type ClusterHostingAccountSpec } from './cluster-schema.ts';
import type { HostingAccountFacts } from './schema.ts';

/** An account that several namespaces share; its Secret is in the operator's namespace. */
export const clusterHostingAccount = defineKind<ClusterHostingAccountSpec, HostingAccountFacts>({
  ...identity,
  ...accountDecisions,
});
