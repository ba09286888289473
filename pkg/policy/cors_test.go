package policy

import "testing"

func TestCors(t *testing.T) {
	some := &Cors{Origins: []string{"https://a.example"}, Methods: []string{"GET", "PUT"}, Headers: []string{"X-A", "x-b"}}
	anything := &Cors{AnyHeader: true}
	const shop = "shop.example"
	page := func(cors *Cors, origin, authority, method string, wanted ...string) Permission {
		p := Page{Origin: []byte(origin), Authority: []byte(authority), Method: []byte(method)}
		if len(wanted) > 0 {
			p.WantedMethod = []byte(wanted[0])
		}
		if len(wanted) > 1 {
			p.WantedHeaders = []byte(wanted[1])
		}
		return cors.Permit(&p)
	}
	own := Permission{}
	given, refused := Permission{Foreign: true, Given: true}, Permission{Foreign: true}
	answered, denied := Permission{Foreign: true, Asks: true, Given: true}, Permission{Foreign: true, Asks: true}
	for _, c := range []struct {
		name      string
		got, want Permission
	}{
		{"no page", some.Permit(&Page{Authority: []byte(shop), Method: []byte("DELETE")}), own},
		{"of the same host", page(some, "https://shop.example", shop, "DELETE"), own},
		{"of the same host, in another case", page(some, "https://SHOP.example", shop, "DELETE"), own},
		{"of the same host, with the port of https", page(some, "https://shop.example", shop+":443", "DELETE"), own},
		{"of the same host, with the port of http", page(some, "http://shop.example", shop+":80", "DELETE"), own},
		{"of the same host and port", page(some, "http://shop.example:8080", shop+":8080", "DELETE"), own},
		{"with the port of another scheme", page(some, "https://shop.example", shop+":80", "GET"), refused},
		{"of another port", page(some, "http://shop.example", shop+":8080", "GET"), refused},
		{"of a host that begins like it", page(some, "https://shop", shop, "GET"), refused},
		{"of nowhere", page(some, "null", shop, "GET"), refused},

		{"an origin of the list", page(some, "https://a.example", shop, "GET"), given},
		{"another", page(some, "https://b.example", shop, "GET"), refused},
		{"another that begins like it", page(some, "https://a.example.b", shop, "GET"), refused},
		{"any origin", page(anything, "https://b.example", shop, "GET"), given},
		{"a method of the list", page(some, "https://a.example", shop, "PUT"), given},
		{"another method", page(some, "https://a.example", shop, "DELETE"), refused},
		{"any method", page(anything, "https://a.example", shop, "DELETE"), given},
		{"an OPTIONS of the page itself", page(anything, "https://a.example", shop, "OPTIONS"), given},
		{"one that is not of the list", page(some, "https://a.example", shop, "OPTIONS"), refused},
		{"the method that others ask for", page(some, "https://a.example", shop, "GET", "DELETE"), given},

		{"a question", page(some, "https://a.example", shop, "OPTIONS", "PUT"), answered},
		{"one about another method", page(some, "https://a.example", shop, "OPTIONS", "DELETE"), denied},
		{"one of another origin", page(some, "https://b.example", shop, "OPTIONS", "PUT"), denied},
		{"one about headers of the list, in any case", page(some, "https://a.example", shop, "OPTIONS", "PUT", "x-a, ,X-B"), answered},
		{"one about no headers", page(some, "https://a.example", shop, "OPTIONS", "PUT", ""), answered},
		{"one about another beside one of the list", page(some, "https://a.example", shop, "OPTIONS", "PUT", "x-a,x-c"), denied},
		{"one about any header", page(anything, "https://a.example", shop, "OPTIONS", "PUT", "x-c"), answered},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, c.got, c.want)
		}
	}
}
