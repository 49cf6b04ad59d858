import type { V1LeaseSpec } from '@kubernetes/client-node';
import { isRecord } from '../../base/json.ts';
import type { KubeObject, Resource } from '../../engine/ports.ts';
import { textOf, type Unchecked } from '../client/parse.ts';

export const leaseResource: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  namespaced: true,
};

/** A released lease has no holder and this duration, as Kubernetes' own components write it. */
export const releasedSeconds = 1;

/** A Lease as the election reads and writes it. */
export interface LeaseSpec {
  /** Empty when nobody holds it. */
  readonly holder: string;
  readonly durationSeconds: number;
  readonly acquireTime: string | undefined;
  readonly renewTime: string | undefined;
  readonly transitions: number;
}

/** Reads the spec of a Lease; values that somebody wrote by hand are brought into bounds. */
export function leaseSpecOf(lease: KubeObject): LeaseSpec {
  const spec: Unchecked<V1LeaseSpec> = isRecord(lease.spec) ? lease.spec : {};
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = spec;
  return {
    holder: textOf(spec, 'holderIdentity') ?? '',
    durationSeconds: typeof seconds === 'number' && seconds > 0 ? seconds : 0,
    acquireTime: textOf(spec, 'acquireTime'),
    renewTime: textOf(spec, 'renewTime'),
    transitions: typeof transitions === 'number' && transitions >= 0 ? transitions : 0,
  };
}

/** True when nobody holds the lease: the last holder released it, or there never was one. */
export function isReleased(spec: LeaseSpec): boolean {
  return spec.holder === '' && (spec.durationSeconds === releasedSeconds || spec.renewTime === undefined);
}
