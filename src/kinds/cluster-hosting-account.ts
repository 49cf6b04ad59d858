import { defineKind } from '../engine/kind/define.ts';
import { accountDecisions } from './hosting-account.ts';
import { identity, type Facts, type Spec } from './schema/cluster-hosting-account.ts';

/** An account that several namespaces share; its Secret is in the operator's namespace. */
export const clusterHostingAccount = defineKind<Spec, Facts>({ ...identity, ...accountDecisions });
