/**
 * Opens services: host rules first, then one budget and one set of connections for each credential, shared by its accounts. A
 * credential whose calls hang holds no connection that another one needs.
 */
import type { Clock, Entropy } from '../base/time.ts';
import { createHash } from 'node:crypto';
import type { Hosting, Log, Metrics, Service, ServiceSettings } from '../engine/ports.ts';
import { Secret } from '../base/json.ts';
import { Credential } from './credential.ts';
import { openHosts, type HostRules } from './wire/hosts.ts';
import { openNames } from './wire/names.ts';
import { openService } from './service.ts';
import { openUndiciWire, type OpenWire, type Wire } from './wire/wire.ts';

/** The parts that hosting is built from. */
export interface HostingOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly hostRules: HostRules;
  /** How long a call that changes something may take; a read may take a third of it. */
  readonly callMs: number;
  /** Carries every exchange; undici unless a test passes one without sockets. */
  readonly wire?: Wire;
}

interface Shared<Value> {
  readonly value: Value;
  users: number;
}

/** Shared values by key, each kept as long as somebody uses it. */
function sharing<Value>(end: (value: Value) => Promise<void>) {
  const all = new Map<string, Shared<Value>>();
  return (key: string, create: () => Value): { readonly value: Value; readonly release: () => Promise<void> } => {
    const shared = all.get(key) ?? { value: create(), users: 0 };
    all.set(key, shared);
    shared.users += 1;
    return {
      value: shared.value,
      release: async () => {
        shared.users -= 1;
        if (shared.users > 0) return;
        all.delete(key);
        await end(shared.value);
      },
    };
  };
}

/** The hosting layer at work. */
export function openHosting(options: HostingOptions): Hosting {
  const { clock, entropy, metrics } = options;
  const hosts = openHosts(options.hostRules);
  const resolve = openNames({ clock });
  const credentialFor = sharing<Credential>(() => Promise.resolve());
  const wireFor = sharing<OpenWire>((wire) => wire.close());
  const given = options.wire;
  return {
    open: (settings, onList, onThrottled) => {
      const base = hosts.check(settings.baseUrl.trim());
      if ('refused' in base) return base;
      const token = settings.token.reveal().trim();
      const key = createHash('sha256').update(`${base.origin}\n${token}`).digest('hex');
      const wire = wireFor(`${key}\n${settings.caBundle ?? ''}`, () =>
        given === undefined ? openUndiciWire(hosts, resolve) : { wire: given, close: () => Promise.resolve() },
      );
      const credential = credentialFor(key, () => new Credential(clock, entropy, metrics));
      credential.value.reopen();
      const trimmed: ServiceSettings = { ...settings, token: new Secret(token) };
      const shared = { wire: wire.value.wire, credential: credential.value };
      const around = { ...options, base, ...shared };
      const deaf = credential.value.onThrottled(() => onThrottled?.(service));
      const release = async (): Promise<void> => {
        deaf();
        await Promise.all([wire.release(), credential.release()]);
      };
      const service: Service = openService(trimmed, around, (event) => onList({ service, ...event }), release);
      return service;
    },
  };
}
