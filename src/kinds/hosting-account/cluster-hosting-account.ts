import { defineKind } from '../../engine/kind/contract/define.ts';
import { accountDecisions } from './hosting-account.ts';
import { identity, type Facts, type Spec } from './cluster-schema.ts';

/** An account that several namespaces share; its Secret is in the operator's namespace. */
export const clusterHostingAccount = defineKind<Spec, Facts>({ ...identity, ...accountDecisions });
