import { defineKind } from '../engine/kind/define.ts';
import { accountFacts, accountStep, throttled } from './hosting-account.ts';
import { identity, type Facts, type Spec } from './schema/cluster-hosting-account.ts';

/** An account that several namespaces share; its Secret is in the operator's namespace. */
export const clusterHostingAccount = defineKind<Spec, Facts>({
  ...identity,
  needs: ({ credentialsRef, dangerousCredentialsRef }) => ({
    secrets: [credentialsRef, dangerousCredentialsRef].flatMap((ref) =>
      ref === undefined ? [] : [{ name: ref.name, key: 'token', field: 'credentialsRef', optional: true }],
    ),
  }),
  step: accountStep,
  show: (pass) => ({
    facts: accountFacts(pass),
    conditions: [throttled(pass)],
    drift: [],
    unverified: [],
    leftover: [],
  }),
});
