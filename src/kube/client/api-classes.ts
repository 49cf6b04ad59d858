/**
 * The API classes of client-node, for commands that ask once and end; with what they leave out: a deadline, and failures as one
 * line instead of the whole answer with its headers.
 *
 * The operator itself uses a client of its own (transport.ts): every call of an API class opens a connection of its own, with a
 * TLS handshake (1,000 creates, 1,000 connections), its informer ends at the first answer of 500, and neither has a deadline.
 */
import { ApiException, KubeConfig, type RequestContext } from '@kubernetes/client-node';
import { Agent } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { type CredentialsOptions, loadConfiguration } from '../credentials/configuration.ts';
import { withPlugin } from '../credentials/credentials.ts';
import { within } from '../deadline.ts';
import { refusalOf, silenceOf } from './failure.ts';

const answerMs = 30_000;

/** A configuration for many calls: they share connections, and each has a deadline. */
export class ConnectedConfig extends KubeConfig {
  readonly #agent: Agent;
  readonly #answerMs: number;

  /** The authority of the server, where it is not one that everybody knows. */
  constructor(ca: string | undefined, answerMs: number) {
    super();
    this.#agent = new Agent({ connections: 16, connect: ca === undefined ? {} : { ca } });
    this.#answerMs = answerMs;
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    context.setDispatcher(this.#agent);
    context.setSignal(AbortSignal.timeout(this.#answerMs));
  }

  /** Lets go of all connections. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/** A cluster for the API classes: `config.makeApiClient(CoreV1Api)`. */
export interface ClusterConfig {
  readonly config: KubeConfig;
  /** The namespace that the context or the pod stands in. */
  readonly namespace: string | undefined;
}

/** Finds the cluster and checks its credential; throws a `CredentialsError`. */
export async function findCluster(options: CredentialsOptions): Promise<ClusterConfig> {
  const source = withPlugin(await loadConfiguration(options), options.clock);
  await source.show();
  return source;
}

/** What a call of an API class answered; undefined where nothing of that name is there. */
export async function ask<T>(clock: Clock, what: string, call: Promise<T>): Promise<T | undefined> {
  try {
    return await within(clock, answerMs, call, what);
  } catch (error) {
    if (!(error instanceof ApiException)) throw silenceOf(error, what);
    const body: unknown = error.body;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    if (error.code === 404) return undefined;
    throw refusalOf({ status: error.code, retryAfter: undefined, text }, what);
  }
}
