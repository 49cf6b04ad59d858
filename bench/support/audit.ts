import { open, type FileHandle } from 'node:fs/promises';

/** Writes down the requests of one user, and nothing of anybody else. */
export function auditPolicy(user: string): string {
  return `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    users: ["${user}"]
  - level: None
`;
}

/** The operator's requests to Kubernetes. */
export interface KubernetesCounts {
  readonly reads: number;
  readonly writes: number;
  readonly statusWrites: number;
  /**
   * The third and later status writes of a resource within one measurement. A creation takes two, so in `scale` these are the
   * reports of what the service shows later.
   */
  readonly laterStatusWrites: number;
  readonly eventWrites: number;
  readonly leaseWrites: number;
  /** How often each verb was used on each resource, and how often it failed. */
  readonly byVerb: ReadonlyMap<string, number>;
  /** How long the API server took for each write, in ms: on a busy machine this is what everything else waits for. */
  readonly writeMs: readonly number[];
}

interface AuditLine {
  readonly requestReceivedTimestamp?: string;
  readonly stageTimestamp?: string;
  readonly stage?: string;
  readonly verb?: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

const chunkBytes = 1024 * 1024;
const reading: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/** Counts requests in the audit log of an API server, each line once. */
export class AuditLog {
  readonly #path: string;
  #file: FileHandle | undefined;
  #position = 0;
  #rest = '';

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the requests since the last call. */
  async take(): Promise<KubernetesCounts> {
    this.#file ??= await open(this.#path);
    const noted: Noted = { byVerb: new Map(), statusWritesOf: new Map(), writeMs: [] };
    const buffer = Buffer.alloc(chunkBytes);
    for (;;) {
      const { bytesRead } = await this.#file.read(buffer, 0, chunkBytes, this.#position);
      if (bytesRead === 0) break;
      this.#position += bytesRead;
      const lines = (this.#rest + buffer.toString('latin1', 0, bytesRead)).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) note(noted, line);
    }
    return summed(noted);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}

interface Noted {
  readonly byVerb: Map<string, number>;
  /** How often the status of each object was written. */
  readonly statusWritesOf: Map<string, number>;
  readonly writeMs: number[];
}

function note({ byVerb, statusWritesOf, writeMs }: Noted, line: string): void {
  if (line === '') return;
  const request = JSON.parse(line) as AuditLine;
  const { stage, verb = '', objectRef, responseStatus } = request;
  // A watch is written down when it begins and again when it ends.
  if (verb === 'watch' ? stage !== 'ResponseStarted' : stage !== 'ResponseComplete') return;
  const resource = objectRef?.resource ?? 'other';
  const what = objectRef?.subresource === undefined ? resource : `${resource}/${objectRef.subresource}`;
  const failed = (responseStatus?.code ?? 200) >= 400 ? ` ${responseStatus?.code}` : '';
  const key = `${verb} ${what}${failed}`;
  byVerb.set(key, (byVerb.get(key) ?? 0) + 1);
  if (what.endsWith('/status') && !reading.has(verb) && failed === '' && !resource.endsWith('hostingaccounts')) {
    const object = `${resource} ${objectRef?.namespace}/${objectRef?.name}`;
    statusWritesOf.set(object, (statusWritesOf.get(object) ?? 0) + 1);
  }
  const { requestReceivedTimestamp = '', stageTimestamp = '' } = request;
  if (!reading.has(verb)) writeMs.push(Date.parse(stageTimestamp) - Date.parse(requestReceivedTimestamp));
}

function summed({ byVerb, statusWritesOf, writeMs }: Noted): KubernetesCounts {
  const total = (wanted: (verb: string, what: string) => boolean) =>
    [...byVerb].reduce((sum, [key, count]) => {
      const [verb = '', what = ''] = key.split(' ');
      return wanted(verb, what) ? sum + count : sum;
    }, 0);
  return {
    reads: total((verb) => reading.has(verb)),
    writes: total((verb) => !reading.has(verb)),
    statusWrites: total((verb, what) => !reading.has(verb) && what.endsWith('/status')),
    laterStatusWrites: [...statusWritesOf.values()].reduce((sum, count) => sum + Math.max(0, count - 2), 0),
    eventWrites: total((verb, what) => !reading.has(verb) && what === 'events'),
    leaseWrites: total((verb, what) => !reading.has(verb) && what === 'leases'),
    byVerb,
    writeMs,
  };
}
