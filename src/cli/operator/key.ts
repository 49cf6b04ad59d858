import type { V1Secret } from '@kubernetes/client-node';
import type { KubeWire } from '../../kube/client/parse.ts';
import { randomBytes } from 'node:crypto';
import { OperatorKey } from '../../engine/kind/planner/compare.ts';
import { KubeError, type KubeApi } from '../../engine/ports.ts';
import { isRecord, Secret } from '../../base/json.ts';
import { secretResource } from '../../kube/material.ts';
import { operatorName } from './operator.ts';

const secretName = `${operatorName}-key`;

/**
 * Reads the secret key of the operator from a Secret in the cluster. At the first start, creates the Secret with a
 * random key.
 */
export async function operatorKey(api: KubeApi, namespace: string): Promise<OperatorKey> {
  for (let tries = 0; tries < 3; tries += 1) {
    const secret = await api.get(secretResource, namespace, secretName);
    const data = secret?.['data'];
    if (isRecord(data) && typeof data['key'] === 'string') return new OperatorKey(new Secret(data['key']));
    if (secret !== undefined)
      throw new Error(`Secret ${namespace}/${secretName} has no key "key"; restore it from a backup`);
    try {
      const made: KubeWire<V1Secret> = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: secretName, namespace, labels: { 'app.kubernetes.io/name': operatorName } },
        type: 'Opaque',
        data: { key: randomBytes(32).toString('base64') },
      };
      await api.create(secretResource, namespace, made);
    } catch (error) {
      if (!(error instanceof KubeError && error.reason === 'exists')) throw error;
    }
  }
  throw new Error(`Secret ${namespace}/${secretName} was created, but cannot be found afterwards`);
}
