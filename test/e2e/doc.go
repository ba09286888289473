// Package e2e proves the product from outside: real sidecars between real apps, each a process of its own on loopback.
//
// A mesh is an entry sidecar and a pod (an app and its sidecar) for every version of every service.
// Apps are this test binary started again; they forward only the headers that a test asks for.
// Everything is in test files: nothing here is part of the product.
package e2e
