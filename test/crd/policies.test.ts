import { describe, expect, it } from 'vitest';
import { secretPaths, secretReferencePolicies } from '../../src/crd/policies.ts';
import { identities } from '../../src/kinds/identities.ts';

describe('the policy for references to Secrets', () => {
  it('knows every field that names a Secret', () => {
    const paths = identities.flatMap((kind) => secretPaths(kind).map((path) => `${kind.kind} ${path.join('.')}`));

    expect(paths).toEqual([
      'HostingAccount credentialsRef',
      'HostingAccount dangerousCredentialsRef',
      'ClusterHostingAccount credentialsRef',
      'ClusterHostingAccount dangerousCredentialsRef',
      'HostedApp healthCheck.headersFrom.[].valueFrom.secretKeyRef',
      'AppEnvironment env.[].valueFrom.secretKeyRef',
      'SolutionInstallation inputs.{}.valueFrom.secretKeyRef',
      'ContactPoint webhook.urlFrom',
      'ContactPoint webhook.passwordFrom',
      'ContactPoint chatA.webhookUrlFrom',
      'ContactPoint chatB.webhookUrlFrom',
      'ContactPoint chatC.webhookUrlFrom',
      'ContactPoint incident.integrationKeyFrom',
    ]);
  });

  it('checks permissions once an expression', () => {
    expect(JSON.stringify(secretReferencePolicies(identities)).match(/check\('get'\)/gu)).toHaveLength(5);
  });
});
