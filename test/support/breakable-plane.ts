/** A control plane that tests stop, kill, copy and put back, and whose requests they can read in an audit log. */
import { existsSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  startControlPlane,
  type ControlPlane,
  type ControlPlaneOptions,
} from '../../src/sandbox/control-plane/control-plane.ts';
import { runFolder } from '../../src/sandbox/control-plane/leftovers.ts';
import { signalTo } from '../../src/sandbox/control-plane/process-table.ts';

export interface BreakableOptions extends Omit<ControlPlaneOptions, 'apiServerFlags'> {
  /** A copy of etcd's data that a new folder begins with; it is another cluster with the same objects. */
  readonly etcdFrom?: string;
  /** Record requests; `true` is each one's metadata, a text is an audit policy in YAML. */
  readonly audit?: boolean | string;
}

export interface BreakablePlane extends ControlPlane {
  readonly auditLogPath: string | undefined;
  /** Ends a part as a crash would. */
  readonly killPart: (part: 'etcd' | 'apiserver') => Promise<void>;
  readonly restartApiServer: () => Promise<void>;
  readonly startEtcd: () => Promise<void>;
  readonly stopEtcd: () => Promise<void>;
  /** Copies etcd's data as of this moment into a new folder. */
  readonly copyEtcd: (into: string) => Promise<void>;
  /** Puts the cluster back to a copy: every part is stopped and started, and resource versions go back. */
  readonly restoreEtcd: (from: string) => Promise<void>;
}

export async function startBreakablePlane({ etcdFrom, audit, ...options }: BreakableOptions): Promise<BreakablePlane> {
  const dir = resolve(options.dir);
  const data = join(runFolder(dir), 'etcd');
  if (etcdFrom !== undefined && !existsSync(data)) await cp(etcdFrom, data, { recursive: true });
  const auditLogPath = audit === undefined || audit === false ? undefined : join(dir, 'logs', 'audit.log');
  const apiServerFlags = auditLogPath === undefined ? [] : await auditFlags(runFolder(dir), auditLogPath, audit);
  const plane = await startControlPlane({ ...options, apiServerFlags });
  const { etcd, apiserver, controllerManager } = plane.daemons;
  return {
    ...plane,
    auditLogPath,
    killPart: (part) => plane.daemons[part].kill(),
    restartApiServer: async () => {
      await apiserver.stop();
      await apiserver.start();
    },
    startEtcd: () => etcd.start(),
    stopEtcd: () => etcd.stop(),
    copyEtcd: async (into) => {
      // A copy made while the process stands still is what a crash would have left: etcd starts from that.
      const { pid } = etcd;
      if (pid !== undefined) signalTo(pid, 'SIGSTOP');
      try {
        await cp(data, into, { recursive: true });
      } finally {
        if (pid !== undefined) signalTo(pid, 'SIGCONT');
      }
    },
    restoreEtcd: async (from) => {
      await controllerManager?.stop();
      await apiserver.stop();
      await etcd.stop();
      await rm(data, { recursive: true, force: true });
      await cp(from, data, { recursive: true });
      await etcd.start();
      await apiserver.start();
      await controllerManager?.start();
    },
  };
}

async function auditFlags(run: string, logPath: string, audit: boolean | string | undefined): Promise<string[]> {
  const policyPath = join(run, 'audit-policy.yaml');
  const everyRequest =
    'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n';
  await mkdir(run, { recursive: true });
  await writeFile(policyPath, typeof audit === 'string' ? audit : everyRequest);
  return [`--audit-policy-file=${policyPath}`, `--audit-log-path=${logPath}`, '--audit-log-maxsize=1000'];
}
