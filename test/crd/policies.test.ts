import { describe, expect, it } from 'vitest';
import { secretPaths, secretReferencePolicies } from '../../src/crd/policies.ts';
import { kinds } from '../../src/kinds/index.ts';

describe('the policy for references to Secrets', () => {
  it('knows every field that names a Secret', () => {
    const paths = kinds.flatMap((kind) => secretPaths(kind).map((path) => `${kind.kind} ${path.join('.')}`));

    expect(paths).toEqual([
      'HostingAccount credentialsRef',
      'HostingAccount dangerousCredentialsRef',
      'ClusterHostingAccount credentialsRef',
      'ClusterHostingAccount dangerousCredentialsRef',
      'HostedApp source.dockerfile.valueFrom.secretKeyRef',
      'HostedApp healthCheck.headers.[].valueFrom.secretKeyRef',
      'AppEnvironment env.[].valueFrom.secretKeyRef',
      'SolutionInstallation inputs.[].valueFrom.secretKeyRef',
      'ContactPoint webhook.url.valueFrom.secretKeyRef',
      'ContactPoint webhook.password.valueFrom.secretKeyRef',
      'ContactPoint chatA.webhookUrl.valueFrom.secretKeyRef',
      'ContactPoint chatB.webhookUrl.valueFrom.secretKeyRef',
      'ContactPoint chatC.webhookUrl.valueFrom.secretKeyRef',
      'ContactPoint incident.integrationKey.valueFrom.secretKeyRef',
    ]);
  });

  it('checks permissions once an expression', () => {
    expect(JSON.stringify(secretReferencePolicies(kinds)).match(/check\('get'\)/gu)).toHaveLength(5);
  });
});
